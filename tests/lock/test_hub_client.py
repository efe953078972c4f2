"""The hub: our client against the fake, and the fake against the hub's own client, so that neither is right only by agreement with the other."""

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import errors

from audit.net.hub import Hub, HubFile, Reason, RepoType, UnavailableError, token_of
from tests.fakehub.server import serving
from tests.fakehub.world import Fault, World, git_blob

TOKEN = "hf_" + "Ab3dEf7hIj" * 3 + "Kl9x"
OTHER = "hf_" + "Zb3dEf7hIj" * 3 + "Kl9x"


@pytest.fixture
def asked() -> Iterator[tuple[World, str]]:
    world = World(tokens={TOKEN, OTHER})
    world.add("org/tiny").commit({"config.json": b'{"a": 1}'})
    world.repositories["models", "org/tiny"].commit({"config.json": b'{"a": 2}'}, "v2")
    world.add("org/gated", gated=True, readers={TOKEN}).commit({"config.json": b"{}"})
    world.add("org/private", private=True, readers={TOKEN}).commit({"config.json": b"{}"})
    world.moved["models", "old/tiny"] = "org/tiny"
    files = {f"data/{number:02}.parquet": b"x" * number for number in range(25)}
    world.add("org/data", "datasets", large={"data/03.parquet"}).commit(files)
    world.page = 10
    with serving(world) as address:
        yield world, address


def client(address: str, token: str | None = None) -> Hub:
    return Hub(address, token, sleep=lambda _seconds: None)


# What both clients see -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["main", "v2"])
def test_both_clients_see_the_same_commit_and_files(asked: tuple[World, str], revision: str) -> None:
    world, address = asked
    theirs = huggingface_hub.HfApi(endpoint=address, token=False).model_info("org/tiny", revision=revision)
    with client(address) as hub:
        ours = hub.repo(RepoType.MODEL, "org/tiny", revision)
    assert ours.commit == theirs.sha == world.repositories["models", "org/tiny"].refs[revision]
    assert theirs.siblings is not None
    assert list(ours.files) == [file.rfilename for file in theirs.siblings] == ["config.json"]


def test_both_clients_list_all_pages_alike(asked: tuple[World, str]) -> None:
    _, address = asked
    listed = huggingface_hub.HfApi(endpoint=address, token=False).list_repo_tree(
        "org/data", repo_type="dataset", recursive=True
    )
    theirs = [
        HubFile(file.path, file.size, f"sha256:{file.lfs.sha256}" if file.lfs else f"git:{file.blob_id}")
        for file in listed
        if isinstance(file, huggingface_hub.hf_api.RepoFile)
    ]
    with client(address) as hub:
        ours = hub.tree(RepoType.DATASET, "org/data", "main")
    assert len(ours) == 25
    assert list(ours) == sorted(theirs)
    assert ours[4].digest == f"git:{git_blob(b'xxxx')}"
    assert ours[3].digest.startswith("sha256:")


@pytest.mark.parametrize("path", ["data/03.parquet", "data/04.parquet"])
def test_both_clients_read_the_same_content(asked: tuple[World, str], path: str, tmp_path: Path) -> None:
    _, address = asked
    theirs = huggingface_hub.hf_hub_download(
        "org/data", path, repo_type="dataset", endpoint=address, token=False, cache_dir=tmp_path
    )
    with client(address) as hub:
        commit = hub.repo(RepoType.DATASET, "org/data", "main").commit
        ours = hub.file(RepoType.DATASET, "org/data", commit, path)
    assert ours == Path(theirs).read_bytes()


@pytest.mark.parametrize(
    ("name", "revision", "token", "error", "reason"),
    [
        ("org/nothing", "main", None, errors.RepositoryNotFoundError, Reason.MISSING),
        ("org/nothing", "main", TOKEN, errors.RepositoryNotFoundError, Reason.MISSING),
        ("org/private", "main", None, errors.RepositoryNotFoundError, Reason.MISSING),
        ("org/private", "main", OTHER, errors.RepositoryNotFoundError, Reason.MISSING),
        ("org/tiny", "nowhere", None, errors.RevisionNotFoundError, Reason.MISSING),
        ("org/tiny", "main", "hf_wrong", errors.HfHubHTTPError, Reason.FORBIDDEN),
    ],
)
def test_both_clients_understand_refusals(
    asked: tuple[World, str],
    name: str,
    revision: str,
    token: str | None,
    error: type[Exception],
    reason: Reason,
) -> None:
    _, address = asked
    with pytest.raises(error):
        huggingface_hub.HfApi(endpoint=address, token=token or False).model_info(name, revision=revision)
    with client(address, token) as hub, pytest.raises(UnavailableError) as caught:
        hub.repo(RepoType.MODEL, name, revision)
    assert caught.value.reason is reason
    assert token is None or token not in caught.value.note


@pytest.mark.parametrize(("token", "advice"), [(None, "set HF_TOKEN"), (OTHER, "ask for access")])
def test_both_clients_know_a_gate(
    asked: tuple[World, str], token: str | None, advice: str, tmp_path: Path
) -> None:
    _, address = asked
    with pytest.raises(errors.GatedRepoError):
        huggingface_hub.hf_hub_download(
            "org/gated", "config.json", endpoint=address, token=token or False, cache_dir=tmp_path
        )
    with client(address, token) as hub, pytest.raises(UnavailableError, match=advice) as caught:
        hub.file(
            RepoType.MODEL, "org/gated", hub.repo(RepoType.MODEL, "org/gated", "main").commit, "config.json"
        )
    assert caught.value.reason is Reason.FORBIDDEN


def test_both_clients_follow_a_renamed_repository(asked: tuple[World, str]) -> None:
    _, address = asked
    assert huggingface_hub.HfApi(endpoint=address, token=False).model_info("old/tiny").id == "org/tiny"
    with client(address) as hub:
        assert hub.repo(RepoType.MODEL, "old/tiny", "main").id == "org/tiny"


def test_a_file_that_is_not_there_is_none_and_no_error(asked: tuple[World, str], tmp_path: Path) -> None:
    _, address = asked
    with pytest.raises(errors.EntryNotFoundError):
        huggingface_hub.hf_hub_download(
            "org/tiny", "nothing", endpoint=address, token=False, cache_dir=tmp_path
        )
    with client(address) as hub:
        assert hub.file(RepoType.MODEL, "org/tiny", "main", "nothing") is None


# What goes wrong on the way ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["429", "500", "cut"])
def test_what_passes_by_itself_is_waited_for(asked: tuple[World, str], kind: str) -> None:
    world, address = asked
    world.faults.append(Fault("/api/models/org/tiny", kind, times=2))
    waited: list[float] = []
    with Hub(address, None, sleep=waited.append) as hub:
        assert hub.repo(RepoType.MODEL, "org/tiny", "main").files == ("config.json",)
    assert len(waited) == 2
    assert waited[0] == 1.0


@pytest.mark.parametrize(
    ("kind", "reason", "said"),
    [
        ("429", Reason.RATE_LIMIT, "limits the rate"),
        ("500", Reason.NETWORK, "answered 500"),
        ("cut", Reason.NETWORK, "broke off"),
        ("html", Reason.NETWORK, "not the hub's"),
        ("redirect", Reason.NETWORK, "redirect"),
    ],
)
def test_what_does_not_pass_is_said(asked: tuple[World, str], kind: str, reason: Reason, said: str) -> None:
    world, address = asked
    world.faults.append(Fault("/api/models/org/tiny", kind, times=-1))
    with client(address) as hub, pytest.raises(UnavailableError, match=said) as caught:
        hub.repo(RepoType.MODEL, "org/tiny", "main")
    assert caught.value.reason is reason


def test_a_long_wait_is_not_waited_for(asked: tuple[World, str]) -> None:
    world, address = asked
    world.faults.append(Fault("/api/models/org/tiny", "429", times=-1, retry_after="3600"))
    waited: list[float] = []
    with Hub(address, None, sleep=waited.append) as hub, pytest.raises(UnavailableError):
        hub.repo(RepoType.MODEL, "org/tiny", "main")
    assert waited == []


def test_the_token_goes_to_the_hub_and_not_where_it_redirects(asked: tuple[World, str]) -> None:
    world, address = asked
    with client(address, TOKEN) as hub:
        commit = hub.repo(RepoType.DATASET, "org/data", "main").commit
        hub.file(RepoType.DATASET, "org/data", commit, "data/03.parquet")
    sent = {path.split("/")[1]: token for _, path, token in world.log}
    assert sent == {"api": TOKEN, "datasets": TOKEN, "cdn": ""}


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b/c", "org/tiny?x=1", "", "-x", "org/..", "a b"])
def test_a_name_that_is_none_is_asked_of_nobody(asked: tuple[World, str], name: str) -> None:
    world, address = asked
    with client(address) as hub, pytest.raises(UnavailableError, match="no name"):
        hub.repo(RepoType.MODEL, name, "main")
    assert world.log == []


def test_no_server_is_a_network_error() -> None:
    with (
        client("http://127.0.0.1:1") as hub,
        pytest.raises(UnavailableError, match="cannot be reached") as caught,
    ):
        hub.repo(RepoType.MODEL, "org/tiny", "main")
    assert caught.value.reason is Reason.NETWORK


# The token ---------------------------------------------------------------------------------------------------------------


def test_the_token_is_taken_from_where_the_hubs_client_takes_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    assert token_of({"HF_TOKEN": " a ", "HUGGING_FACE_HUB_TOKEN": "b"}) == "a"
    assert token_of({"HUGGING_FACE_HUB_TOKEN": "b"}) == "b"
    assert token_of({"HF_HOME": str(tmp_path)}) == "from-file"
    assert token_of({"HF_TOKEN_PATH": str(tmp_path / "token"), "HOME": "/nowhere"}) == "from-file"
    assert token_of({"HOME": str(tmp_path)}) is None
