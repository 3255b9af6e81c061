"""What a commit finds in the bytes before it fixes them."""

import pytest

from cableferry.core.access import Claimant
from cableferry.core.artifacts import Artifact, Declared, Description, Draft, Outcome, Residence
from cableferry.core.errors import Conflict, Forbidden, Kind
from cableferry.engine import artifacts, commits, files
from cableferry.engine.reading import Depot
from tests.engine.bytes import bring, sha256
from tests.engine.world import MANAGER, World

A, B = b"content-a", b"content-b"
TREE = "c0e263e42f78dc50f8c5ee64a4c44fc64988bf497fa31542259f173ac869f097"


@pytest.fixture
def two_files(world: World, depot: Depot) -> Artifact:
    """b.log came first, in two pieces, and a.log after it."""
    artifact = world.write(artifacts.create, Draft())
    bring(world, depot, artifact, "b.log", B[:3], B[3:])
    bring(world, depot, artifact, "a.log", A)
    return artifact


def examine(depot: Depot, artifact: Artifact, declared: Declared) -> Outcome:
    return commits.examine(depot, artifact.id, MANAGER, declared).outcome


@pytest.mark.parametrize("said", [None, TREE, TREE.upper(), sha256(B + A)])
def test_files_have_the_tree_hash_whatever_their_client_calls_it(
    depot: Depot, two_files: Artifact, said: str | None
) -> None:
    outcome = examine(depot, two_files, Declared(said, 18))

    assert (outcome.sha256, outcome.size_bytes) == (TREE, 18)
    assert outcome.declared_sha256 == (said and said.lower())


@pytest.mark.parametrize("said", [sha256(A + B), sha256(b""), "abc"])
def test_any_other_hash_is_refused(depot: Depot, two_files: Artifact, said: str) -> None:
    with pytest.raises(Conflict) as refused:
        examine(depot, two_files, Declared(said))

    assert refused.value.kind is Kind.HASH_MISMATCH


def test_declared_files_are_not_read(world: World, depot: Depot) -> None:
    artifact = world.write(artifacts.create, Draft())
    world.write(files.declare, artifact.id, Description("x"), Declared("abc123", 5), MANAGER)

    assert examine(depot, artifact, Declared("abc123", 5)).sha256 == "abc123"
    with pytest.raises(Conflict):
        examine(depot, artifact, Declared("other", 5))


def test_what_lies_elsewhere_is_what_its_client_says(world: World, depot: Depot) -> None:
    artifact = world.write(artifacts.create, Draft(residence=Residence.POSIX, content_url="file:///nfs/out"))

    outcome = examine(depot, artifact, Declared("AA", 7))

    assert (outcome.sha256, outcome.declared_sha256, outcome.size_bytes) == ("aa", "aa", 7)


def test_a_commit_is_examined_once(world: World, depot: Depot, two_files: Artifact) -> None:
    examined = commits.examine(depot, two_files.id, MANAGER, Declared())
    committed = world.write(artifacts.commit, two_files.id, MANAGER, Declared(), examined)

    again = commits.examine(depot, two_files.id, MANAGER, Declared(TREE))

    assert world.write(artifacts.commit, two_files.id, MANAGER, Declared(TREE), again) == committed


def test_another_workers_artifact_is_not_looked_at(depot: Depot, two_files: Artifact) -> None:
    with pytest.raises(Forbidden):
        commits.examine(depot, two_files.id, Claimant("w2", "credential"), Declared())
