"""The fake GitHub as a program, for containers and for runs of a workflow on a local engine.

    python -m tests.fakegithub --port 8080 --state DIR

DIR/seed.json says what there is (see `seed.py`). DIR/state.json, requests.jsonl and violations.txt are written after every
request; where it listens is printed as one JSON line and written to DIR/address.json.
"""

import argparse
import json
import signal
import sys
import threading
from pathlib import Path

from .contract import Contract
from .record import Recorder
from .seed import plant
from .server import fake_github
from .spec import ENTERPRISE, REST, SpecUnavailableError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fakegithub", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="folder with seed.json, written to")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for containers")
    parser.add_argument("--public-host", help="name that clients reach it by, where it is another")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--prefix", default="", help='"/api/v3" for an Enterprise server')
    parser.add_argument("--server-url", default="https://github.com", help="what links for people begin with")
    parser.add_argument("--no-openapi", action="store_true", help="check the limits only")
    told = parser.parse_args()
    try:
        contract = None if told.no_openapi else Contract(ENTERPRISE if told.prefix else REST)
    except SpecUnavailableError as error:
        print(f"GitHub's OpenAPI description is not available: {error}", file=sys.stderr)
        return 3
    server = fake_github(
        contract=contract,
        host=told.host,
        port=told.port,
        public_host=told.public_host,
        prefix=told.prefix,
        html=told.server_url,
        strict=False,
    )
    stop = threading.Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: stop.set())
    with server:
        plant(server, told.state / "seed.json")
        recorder = Recorder(server, told.state)
        server.on_change = recorder.write
        recorder.write()
        where = {"api_url": server.api_url, "graphql_url": server.graphql_url, "files_url": server.files_url}
        (told.state / "address.json").write_text(json.dumps(where))
        print(json.dumps(where), flush=True)
        stop.wait()
    for one in server.violations:
        print(one, file=sys.stderr)
    return 1 if server.violations else 0


if __name__ == "__main__":
    sys.exit(main())
