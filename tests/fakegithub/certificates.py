"""A certificate authority of our own, as an Enterprise server behind a company's authority has one, and a certificate by it."""

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificates:
    """`authority`: the PEM file that clients are to trust; `server`: key and certificate in one PEM file."""

    authority: Path
    server: Path

    def context(self) -> ssl.SSLContext:
        """What the server speaks TLS with."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(self.server)
        return made


def make_certificates(folder: Path) -> Certificates:
    """For 127.0.0.1 and localhost, valid for an hour."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    name = _name("Test authority")
    authority = (
        _builder(name, name, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    hosts = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        _builder(_name("localhost"), name, key)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    made = Certificates(folder / "authority.pem", folder / "server.pem")
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    made.server.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return made


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(hours=1))
    )
