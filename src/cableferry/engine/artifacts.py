"""What can be done with an artifact: create, find, commit, give up, delete."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from cableferry.core import access, artifacts
from cableferry.core.access import Caller
from cableferry.core.artifacts import Artifact, Declared, Draft, Examined, Filter, Use
from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.core.jobs import Job, Payload
from cableferry.core.paging import Page
from cableferry.engine import ids
from cableferry.store import artifacts as rows
from cableferry.store import uploads as upload_rows
from cableferry.store.tx import News, Tx


class Listing(msgspec.Struct, frozen=True):
    """One page of a list, and how many artifacts the whole list has."""

    artifacts: list[Artifact]
    total: int


def create(tx: Tx, draft: Draft) -> Artifact:
    """A new artifact: managed ones wait for their files, others are registered where they are."""
    artifact = rows.add(tx, ids.new(tx.now), draft)
    _announce(tx, artifact)
    return artifact


def get(tx: Tx, id: str) -> Artifact:
    artifact = rows.get(tx, id)
    if artifact is None:
        raise missing(id)
    return artifact


def lock(tx: Tx, id: str) -> Artifact:
    artifact = rows.lock(tx, id)
    if artifact is None:
        raise missing(id)
    return artifact


def find(tx: Tx, wanted: Filter, page: Page, newest_first: bool = False) -> Listing:
    return Listing(rows.find(tx, wanted, page, newest_first), rows.count(tx, wanted))


def named(tx: Tx, jobs: Collection[Job]) -> Mapping[str, Artifact]:
    """The outputs and logs of these jobs, by id; without any, nothing is asked."""
    named = {result for job in jobs for result in job.results}
    return rows.find_many(tx, named) if named else {}


def commit(tx: Tx, id: str, caller: Caller, declared: Declared, examined: Examined) -> Artifact:
    """Fix the content as it was examined, without what is still on its way; the same commit again changes nothing."""
    artifact = lock(tx, id)
    access.check_own(caller, artifact)
    if artifacts.is_repeated(artifact, declared):
        return artifact
    artifacts.check_committable(artifact)
    if artifact.revision != examined.revision:
        raise Conflict(
            f"the files of artifact {id} changed during its commit: commit again when the uploads are over",
            Kind.CHANGED_MEANWHILE,
            current_state=artifact.stage,
        )
    upload_rows.bury_of_artifact(tx, artifact.key)
    return save(tx, artifact, artifacts.committed(artifact, examined.outcome, tx.now))


def give_up(tx: Tx, artifact: Artifact, detail: str) -> Artifact:
    """Fail an artifact that nothing comes to any more; the bytes of its unfinished uploads are given up with it."""
    upload_rows.bury_of_artifact(tx, artifact.key)
    return save(tx, artifact, artifacts.failed(artifact, detail, tx.now))


def delete(tx: Tx, id: str, caller: Caller) -> None:
    """Remove an artifact and its files; one that an unfinished job takes as input stays."""
    artifact = lock(tx, id)
    access.check_own(caller, artifact)
    users = rows.unfinished_users(tx, artifact, Use.INPUT)
    if users:
        raise Conflict(
            f"artifact {id} is an input of unfinished job {', '.join(users)}: cancel it or wait for its end",
            Kind.IN_USE,
        )
    upload_rows.bury_of_artifact(tx, artifact.key)
    rows.delete(tx, artifact)
    tx.announce(News("artifact", id, "deleted"))


def check_inputs(tx: Tx, inputs: Sequence[str]) -> None:
    """Refuse a job whose inputs are not all committed; those it gets cannot be deleted meanwhile."""
    known = rows.hold_many(tx, inputs)
    for each in inputs:
        artifacts.check_usable(known.get(each), each)


def known_results(tx: Tx, said: Iterable[Payload]) -> frozenset[str]:
    """Which of the outputs and logs that reports name exist; without any, nothing is asked."""
    named = {result for payload in said for result in payload.results}
    return frozenset(rows.hold_many(tx, named)) if named else frozenset()


def check_results(said: Payload, known: Collection[str]) -> None:
    """Refuse a report that names an output or a log that is not there."""
    for result in said.results:
        if result not in known:
            raise Conflict(
                f"there is no artifact {result[:64]}: create and commit it before you report it", Kind.BAD_INPUT
            )


def save(tx: Tx, before: Artifact, after: Artifact) -> Artifact:
    """Write a locked artifact as it became."""
    if rows.save(tx, before, after) != 1:
        raise Conflict(
            f"artifact {before.id} was changed by somebody else meanwhile: look again", Kind.CHANGED_MEANWHILE
        )
    if after.stage is not before.stage:
        _announce(tx, after)
    return after


def missing(id: str) -> NotFound:
    return NotFound(f"there is no artifact {id[:64]}", Kind.UNKNOWN_ARTIFACT)


def _announce(tx: Tx, artifact: Artifact) -> None:
    tx.announce(News("artifact", artifact.id, artifact.stage.value))
