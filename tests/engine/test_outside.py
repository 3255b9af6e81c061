"""What a commit makes of content that lies elsewhere, where this server may look and where it may not."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from cableferry.core.artifacts import Artifact, Declared, Description, Draft, Outcome, Residence, Stage
from cableferry.core.contents import tree_hash
from cableferry.engine import artifacts, commits, files
from cableferry.engine.outside import Looking
from cableferry.engine.reading import Depot
from cableferry.store.blobs.local import LocalBlobs
from cableferry.store.elsewhere.looking import Elsewhere
from cableferry.store.elsewhere.posix import PosixFiles
from tests.engine.world import MANAGER, World

A, B = b"content-a", b"content-b"
OTHER = hashlib.sha256(b"other").hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "out").mkdir(parents=True)
    (root / "out" / "a").write_bytes(A)
    (root / "out" / "b c").write_bytes(B)
    return root


@pytest.fixture
def depot(world: World, tmp_path: Path, root: Path) -> Depot:
    looking = Looking(Elsewhere({"file": PosixFiles([root])}), hash_up_to=10**6)
    return Depot(world.store, LocalBlobs(tmp_path / "blobs"), looking=looking)


@pytest.fixture
def create(world: World, root: Path) -> Callable[..., Artifact]:
    def creating(url: str = f"file://{root}/out", residence: Residence = Residence.POSIX, **said: Declared) -> Artifact:
        artifact = world.write(artifacts.create, Draft(residence=residence, content_url=url))
        for path, content in said.items():
            world.write(files.declare, artifact.id, Description(path.replace("_", " ")), content, MANAGER)
        return artifact

    return creating


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def examine(depot: Depot, artifact: Artifact, declared: Declared = Declared()) -> Outcome:  # noqa: B008  # frozen
    return commits.examine(depot, artifact.id, MANAGER, declared).outcome


def test_files_that_are_as_declared_are_confirmed(depot: Depot, create: Callable[..., Artifact]) -> None:
    artifact = create(a=Declared(sha256(A), 9), b_c=Declared(sha256(B).upper(), 9))
    tree = tree_hash([("a", sha256(A)), ("b c", sha256(B))])

    assert Outcome(sha256=tree, size_bytes=18) == examine(depot, artifact)


def test_what_was_not_declared_is_learned(depot: Depot, create: Callable[..., Artifact]) -> None:
    artifact = create(a=Declared(), b_c=Declared())
    tree = tree_hash([("a", sha256(A)), ("b c", sha256(B))])

    assert Outcome(sha256=tree, declared_sha256=tree, size_bytes=18) == examine(depot, artifact, Declared(tree, 18))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"a": Declared(OTHER, 9)}, f"file a was declared with SHA-256 {OTHER}, but has {sha256(A)}"),
        ({"a": Declared(None, 8)}, "file a was declared with 8 bytes, but has 9"),
        ({"none": Declared()}, "file none: there is no "),
        ({"a": Declared(sha256(A), 9), "none": Declared(sha256(B), 9)}, "file none: there is no "),
    ],
)
def test_files_that_are_not_as_declared_fail_the_artifact(
    world: World, depot: Depot, create: Callable[..., Artifact], said: dict[str, Declared], reason: str
) -> None:
    artifact = create(**said)

    examined = commits.examine(depot, artifact.id, MANAGER, Declared())
    failed = world.write(artifacts.commit, artifact.id, MANAGER, Declared(), examined)

    assert Stage.FAILED is failed.stage
    assert (failed.detail or "").startswith(reason)


def test_a_commit_that_declares_other_content_than_was_found_fails(
    depot: Depot, create: Callable[..., Artifact]
) -> None:
    outcome = examine(depot, create(a=Declared(), b_c=Declared()), Declared(OTHER))

    assert "was declared with SHA-256" in (outcome.failure or "")


def test_a_hash_of_another_kind_is_kept_as_declared(depot: Depot, create: Callable[..., Artifact]) -> None:
    assert sha256(A) == examine(depot, create(a=Declared("abc123", 9))).sha256


def test_one_file_by_its_address_is_looked_at(depot: Depot, create: Callable[..., Artifact], root: Path) -> None:
    artifact = create(f"file://{root}/out/a")

    assert Outcome(sha256=sha256(A), size_bytes=9) == examine(depot, artifact)
    assert "but has 9" in (examine(depot, artifact, Declared(None, 8)).failure or "")
    assert "but has" in (examine(depot, artifact, Declared(OTHER, 9)).failure or "")
    assert "there is no" in (examine(depot, create(f"file://{root}/none")).failure or "")


def test_a_folder_without_files_is_as_declared(depot: Depot, create: Callable[..., Artifact]) -> None:
    said = Declared(OTHER.upper(), 18)

    assert Outcome(sha256=OTHER, declared_sha256=OTHER, size_bytes=18) == examine(depot, create(), said)


def test_a_folder_under_the_name_of_a_file_fails(depot: Depot, create: Callable[..., Artifact], root: Path) -> None:
    assert "file out is a folder" == examine(depot, create(f"file://{root}", out=Declared())).failure


def test_a_large_file_is_compared_by_its_size(depot: Depot, create: Callable[..., Artifact], root: Path) -> None:
    (root / "large").write_bytes(bytes(10**6 + 1))
    url = f"file://{root}/large"

    assert OTHER == examine(depot, create(url), Declared(OTHER, 10**6 + 1)).sha256
    assert "but has" in (examine(depot, create(url), Declared(OTHER, 10**6)).failure or "")


@pytest.mark.parametrize("url", ["file:///another/root", "s3://lake/x", "https://data.example.org/x"])
def test_where_this_server_may_not_look_content_is_as_declared(
    depot: Depot, create: Callable[..., Artifact], url: str
) -> None:
    outcome = examine(depot, create(url, a=Declared(OTHER, 5)), Declared(OTHER, 5))

    assert Outcome(sha256=OTHER, declared_sha256=OTHER, size_bytes=5) == outcome


def test_a_reference_is_never_looked_at(depot: Depot, create: Callable[..., Artifact], root: Path) -> None:
    artifact = create(f"file://{root}/none", Residence.REFERENCE)

    assert Outcome(sha256="abc", declared_sha256="abc", size_bytes=5) == examine(depot, artifact, Declared("ABC", 5))


def test_a_reference_holds_what_its_files_were_said_to_be(depot: Depot, create: Callable[..., Artifact]) -> None:
    artifact = create("https://data.example.org/x", Residence.REFERENCE, a=Declared(OTHER, 5))

    assert Outcome(sha256=OTHER, declared_sha256=None, size_bytes=5) == examine(depot, artifact, Declared())
