"""What artifacts are, what they may become, and who may say so."""

from datetime import timedelta

import pytest

from cableferry.core import artifacts
from cableferry.core.artifacts import ARTIFACTS, Declared, Outcome, Residence, Stage
from cableferry.core.errors import Conflict, Kind
from tests.core.specimens import NOW, a_file, an_artifact

OPEN = [Stage.CREATED, Stage.UPLOADING, Stage.REGISTERED]
LATER = NOW + timedelta(seconds=1)


@pytest.mark.parametrize("text", ["550e8400-e29b-41d4-a716-446655440000", "550E8400-E29B-41D4-A716-446655440000"])
def test_a_uuid_can_be_an_id(text: str) -> None:
    assert artifacts.is_id(text)


@pytest.mark.parametrize("text", ["", "corpus-01", "550e8400-e29b-41d4-a716-44665544000", "art_abc123"])
def test_another_text_is_no_id(text: str) -> None:
    assert not artifacts.is_id(text)


def test_only_managed_artifacts_wait_for_bytes() -> None:
    stages = {residence: artifacts.first_stage(residence) for residence in Residence}

    assert stages.pop(Residence.MANAGED) is Stage.CREATED
    assert set(stages.values()) == {Stage.REGISTERED}


@pytest.mark.parametrize("stage", Stage)
def test_an_artifact_changes_until_it_is_over(stage: Stage) -> None:
    artifact = an_artifact(stage)

    assert artifact.is_open == (stage in OPEN)
    if stage in OPEN:
        artifacts.check_open(artifact)
    else:
        with pytest.raises(Conflict, match="create a new artifact"):
            artifacts.check_open(artifact)


def test_no_bytes_come_to_what_lives_elsewhere() -> None:
    artifacts.check_takes_bytes(an_artifact())

    with pytest.raises(Conflict) as refused:
        artifacts.check_takes_bytes(an_artifact(Stage.REGISTERED, residence=Residence.POSIX))
    assert refused.value.kind is Kind.NOT_MANAGED


def test_a_job_takes_only_what_is_committed() -> None:
    artifacts.check_usable(an_artifact(Stage.COMMITTED), "a7")

    with pytest.raises(Conflict, match="not committed"):
        artifacts.check_usable(an_artifact(), "a7")
    with pytest.raises(Conflict, match="there is no artifact a8"):
        artifacts.check_usable(None, "a8")


def test_the_first_file_opens_the_upload() -> None:
    first = artifacts.touched(an_artifact(Stage.CREATED), LATER)
    second = artifacts.touched(first, LATER)

    assert (first.stage, first.revision, first.touched_at) == (Stage.UPLOADING, 4, LATER)
    assert (second.stage, second.revision) == (Stage.UPLOADING, 5)


def test_nothing_is_committed_that_holds_nothing() -> None:
    artifacts.check_committable(an_artifact(Stage.UPLOADING))
    artifacts.check_committable(an_artifact(Stage.REGISTERED))

    with pytest.raises(Conflict, match="has no files"):
        artifacts.check_committable(an_artifact(Stage.CREATED))


def test_only_what_lies_elsewhere_is_committed_without_files() -> None:
    artifacts.check_filled(an_artifact(Stage.UPLOADING), 1)
    artifacts.check_filled(an_artifact(Stage.REGISTERED, residence=Residence.POSIX), 0)

    with pytest.raises(Conflict, match="has no files"):
        artifacts.check_filled(an_artifact(Stage.UPLOADING), 0)


@pytest.mark.parametrize(
    ("declared", "is_repeated"),
    [
        (Declared(), True),
        (Declared("AA", 3), True),
        (Declared("bb"), True),
        (Declared("cc"), False),
        (Declared("aa", 4), False),
    ],
)
def test_the_same_commit_again_is_known(declared: Declared, is_repeated: bool) -> None:
    committed = an_artifact(Stage.COMMITTED, sha256="aa", declared_sha256="bb", size_bytes=3)

    assert artifacts.is_repeated(committed, declared) == is_repeated
    assert not artifacts.is_repeated(an_artifact(), declared)


def test_a_commit_fixes_what_was_found() -> None:
    committed = artifacts.committed(an_artifact(), Outcome("aa", "bb", 3, schema_error="no footer"), LATER)

    assert committed.stage is Stage.COMMITTED
    assert (committed.sha256, committed.declared_sha256, committed.size_bytes) == ("aa", "bb", 3)
    assert (committed.schema_error, committed.committed_at, committed.revision) == ("no footer", LATER, 4)


def test_what_cannot_be_confirmed_fails() -> None:
    failed = artifacts.committed(an_artifact(Stage.REGISTERED), Outcome(failure="unreachable"), LATER)

    assert (failed.stage, failed.detail, failed.committed_at) == (Stage.FAILED, "unreachable", None)


def test_every_change_of_stage_is_in_the_table() -> None:
    before = an_artifact(Stage.CREATED)
    touched = artifacts.touched(before, LATER)
    changes = [
        (before, touched),
        (touched, artifacts.committed(touched, Outcome(), LATER)),
        (touched, artifacts.failed(touched, "silent", LATER)),
    ]

    assert all(ARTIFACTS.allows(old.stage, new.stage) for old, new in changes)


def test_a_file_without_a_blob_is_only_declared() -> None:
    assert not a_file().is_stored
    assert a_file(blob_key=3).is_stored
