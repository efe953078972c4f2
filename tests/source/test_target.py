"""What a TARGET names, and where a token may go."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.source.errors import SourceError
from audit.source.naming import repository_name, without_credentials
from audit.source.target import GitHubTarget, LocalTarget, Server, parse_target, server_for


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("owner/repo", GitHubTarget("owner", "repo")),
        ("owner/repo@v1.0", GitHubTarget("owner", "repo", ref="v1.0")),
        ("owner/repo.git", GitHubTarget("owner", "repo")),
        ("https://github.com/o/r", GitHubTarget("o", "r", "github.com")),
        ("https://www.github.com/o/r/", GitHubTarget("o", "r", "github.com")),
        ("http://github.com/o/r.git", GitHubTarget("o", "r", "github.com")),
        ("github.com/o/r/tree/main/a", GitHubTarget("o", "r", "github.com", tree="main/a")),
        ("https://t0ken:x@github.com/o/r", GitHubTarget("o", "r", "github.com")),
        ("https://github.com/o/r?tab=readme#x", GitHubTarget("o", "r", "github.com")),
        ("git@github.com:o/r.git", GitHubTarget("o", "r", "github.com")),
        ("ssh://git@ssh.github.com:443/o/r.git", GitHubTarget("o", "r", "github.com")),
        ("git+https://ghes.example:8443/o/r", GitHubTarget("o", "r", "ghes.example")),
        ("https://github.com/o/r/tree/feature%23x", GitHubTarget("o", "r", "github.com", tree="feature#x")),
        ("https://github.com/o/r/commits/abc", GitHubTarget("o", "r", "github.com", ref="abc")),
        ("https://github.com/o/r/pull/12/files", GitHubTarget("o", "r", "github.com", pull=12)),
        ("https://github.com/o/r/releases/tag/v1", GitHubTarget("o", "r", "github.com", ref="v1")),
    ],
)
def test_what_lies_on_github(text: str, target: GitHubTarget) -> None:
    assert parse_target(text) == target


def test_what_lies_here_comes_first(tmp_path: Path) -> None:
    (tmp_path / "owner/repo").mkdir(parents=True)
    (tmp_path / "a@b").mkdir()
    assert parse_target("owner/repo") == LocalTarget("owner/repo")
    assert parse_target("owner/repo@main") == LocalTarget("owner/repo", "main")
    assert parse_target("a@b") == LocalTarget("a@b")
    assert parse_target("a@b@c@d") == LocalTarget("a@b", "c@d")
    assert parse_target(".") == LocalTarget(".")


def test_no_folder_passes_for_a_commit(tmp_path: Path) -> None:
    for commit in ("0" * 40, "0" * 64):
        (tmp_path / f"model@{commit}").mkdir()
        assert parse_target(f"model@{commit}") == LocalTarget(f"model@{commit}")
        (tmp_path / "model").mkdir(exist_ok=True)
        assert parse_target(f"model@{commit}") == LocalTarget("model", commit)
        (tmp_path / "model").rmdir()


@pytest.mark.parametrize(
    "text",
    [
        "", "a\0b", "nothing", "./nothing", "a/b/c", "https://github.com", "https://github.com/o", "-/x", "o/..",
        "owner/repo@a b", "owner/repo@a..b", "owner/repo@-x", "owner/repo@x^y", "ftp://github.com/o/r", "https://[",
        "https://github.com/o/r/issues", "https://github.com/o/r/blob/main/a.py", "https://github.com/o/r/pull/x",
        "https://github.com/o/r/tree/../../x", "https://github.com/o%2F../r", "x" * 5000, "file:///etc", "o/r@",
    ],
)  # fmt: skip
def test_what_names_nothing(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_target(text)
    assert caught.value.advice


def test_a_password_in_an_address_is_never_repeated() -> None:
    for text in ("https://u:s3cret@github.com/o", "ftp://u:s3cret@github.com/o/r", "https://u:s3cret@[/o/r"):
        with pytest.raises(SourceError) as caught:
            parse_target(text)
        assert "s3cret" not in caught.value.message + caught.value.advice


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.from_regex(r"https://github\.com/[a-z%./@]{0,30}", fullmatch=True))
def test_any_word_is_a_target_or_explained(text: str) -> None:
    try:
        assert isinstance(parse_target(text), LocalTarget | GitHubTarget)
    except SourceError as error:
        assert error.message


def test_a_token_goes_only_where_it_belongs() -> None:
    ghes = {"GITHUB_API_URL": "https://ghes.example/api/v3", "GITHUB_TOKEN": "t"}
    assert server_for(None, {"GITHUB_TOKEN": "t"}) == Server("https://api.github.com", "github.com", "t")
    assert server_for("github.com", {"GH_TOKEN": "t"}) == Server("https://api.github.com", "github.com", "t")
    assert server_for("github.com", {"GITHUB_TOKEN": "", "GH_TOKEN": " t\n"}).token == "t"
    assert server_for(None, ghes) == Server("https://ghes.example/api/v3", "ghes.example", "t")
    assert server_for("ghes.example", ghes).token == "t"
    assert server_for("github.com", ghes) == Server("https://api.github.com", "github.com", None)
    data = {"GITHUB_API_URL": "https://api.me.ghe.com", "GITHUB_TOKEN": "t"}
    assert server_for("me.ghe.com", data) == Server("https://api.me.ghe.com", "me.ghe.com", "t")
    for host in ("gitlab.com", "github.com.evil.example", "evil.example"):
        with pytest.raises(SourceError, match="not known as a GitHub server"):
            server_for(host, ghes)
    assert "t0ken" not in repr(Server("https://x", "x", "t0ken"))


@pytest.mark.parametrize(
    "api", ["http://ghes.example/api/v3", "ghes.example", "ftp://x", "https://", "https://["]
)
def test_an_api_address_that_cannot_be_used(api: str) -> None:
    with pytest.raises(SourceError, match="GITHUB_API_URL"):
        server_for(None, {"GITHUB_API_URL": api})


@pytest.mark.parametrize(
    ("remote", "clean", "name"),
    [
        ("https://github.com/o/r.git", "https://github.com/o/r.git", "o/r"),
        ("https://x-access-token:ghs_a@github.com/o/r", "https://github.com/o/r", "o/r"),
        ("https://host/o/r?private_token=x#y", "https://host/o/r", "o/r"),
        ("ssh://git:pw@host:22/o/r.git", "ssh://git@host:22/o/r.git", "o/r"),
        ("git@github.com:o/r.git", "git@github.com:o/r.git", "o/r"),
        ("me:pw@host:o/r", "me@host:o/r", "o/r"),
        ("https://gitlab.com/group/sub/r.git", "https://gitlab.com/group/sub/r.git", "group/sub/r"),
        ("/srv/git/r.git", "/srv/git/r.git", "folder"),
        ("../r", "../r", "folder"),
        ("file:///srv/git/r.git", "file:///srv/git/r.git", "folder"),
        ("C:\\git\\r", "C:\\git\\r", "folder"),
        ("https://[/o/r", "https://[/o/r", "folder"),
        ("host:", "host:", "folder"),
        ("", "", "folder"),
    ],
)
def test_names_and_credentials(remote: str, clean: str, name: str) -> None:
    assert without_credentials(remote) == clean
    assert repository_name(without_credentials(remote), "/work/folder") == name


@given(st.text(max_size=60))
def test_any_remote_has_a_name(remote: str) -> None:
    assert repository_name(without_credentials(remote), "/work/folder")
