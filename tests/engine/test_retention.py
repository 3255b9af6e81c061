"""What becomes of artifacts by themselves: stalled ones fail, and those that were kept long enough go."""

from datetime import timedelta

import pytest

from cableferry.core.artifacts import Artifact, Declared, Description, Draft, Examined, Outcome, Residence, Stage
from cableferry.core.errors import NotFound
from cableferry.core.jobs import State
from cableferry.core.retention import Failures, Lifetimes, Retention, Unused
from cableferry.engine import artifacts, files, retention
from cableferry.engine.retention import Due
from cableferry.store.tx import News, statement
from tests.engine.world import MANAGER, World

DAY = timedelta(days=1)
TEN_DAYS = Retention((Lifetimes({"*": 10 * DAY}),))
UPLOAD = statement(
    "upload",
    """INSERT INTO uploads (id, artifact_key, path, kind, received, revision, created_at, touched_at)
    VALUES ('u1', ?, 'y', 'tus', 1, 1, 1, ?)""",
)


def an_artifact(world: World, **said: object) -> Artifact:
    return world.write(artifacts.create, Draft(residence=Residence.REFERENCE, **said))


def commit(world: World, artifact: Artifact) -> Artifact:
    examined = Examined(artifact.revision, Outcome(size_bytes=1))
    return world.write(artifacts.commit, artifact.id, MANAGER, Declared(), examined)


def gone(world: World, kept: Retention) -> list[str]:
    page = world.read(retention.look, kept, 0)
    done = [world.write(retention.delete_due, kept, due.artifact.id) for due in page.due]
    return [due.artifact.id for due in done if due is not None]


def fail(world: World) -> list[tuple[str, str]]:
    done: list[Due] = world.write(retention.fail_stalled, DAY)
    return [(due.artifact.id, due.reason) for due in done]


def test_what_nothing_comes_to_any_more_fails(world: World) -> None:
    waiting = world.write(artifacts.create, Draft())
    begun = world.write(artifacts.create, Draft())
    registered, done = an_artifact(world), commit(world, an_artifact(world))
    world.clock.passes(hours=20)
    world.write(files.declare, begun.id, Description("x"), Declared(), MANAGER)
    world.clock.passes(hours=4)

    failed = fail(world)

    assert {waiting.id, registered.id} == {each for each, _ in failed}
    assert all("never committed" in reason for _, reason in failed)
    assert dict(failed)[registered.id] == world.read(artifacts.get, registered.id).detail
    assert [Stage.FAILED, Stage.UPLOADING, Stage.COMMITTED] == [
        world.read(artifacts.get, each.id).stage for each in (waiting, begun, done)
    ]
    assert News("artifact", waiting.id, "failed") in world.settle()
    world.clock.passes(hours=20)
    assert [begun.id] == [each for each, _ in fail(world)]


def test_bytes_of_an_upload_that_is_under_way_keep_its_artifact_open(world: World) -> None:
    artifact = world.write(artifacts.create, Draft())
    world.clock.passes(days=3)
    micros = int(world.clock.now.timestamp() * 10**6)
    world.store.write(lambda tx: tx.run(UPLOAD, (artifact.key, micros - 3600 * 10**6)))

    assert [] == fail(world)
    world.clock.passes(days=1)
    assert [artifact.id] == [each for each, _ in fail(world)]


def test_what_was_kept_long_enough_goes_and_its_files_with_it(world: World) -> None:
    old, young = commit(world, an_artifact(world)), an_artifact(world)
    world.clock.passes(days=9)
    young = commit(world, young)
    world.clock.passes(days=1)

    assert [old.id] == gone(world, TEN_DAYS)
    assert News("artifact", old.id, "deleted") in world.settle()
    with pytest.raises(NotFound):
        world.read(artifacts.get, old.id)
    world.clock.passes(days=9)
    assert [young.id] == gone(world, TEN_DAYS)


def test_without_a_policy_nothing_goes(world: World) -> None:
    commit(world, an_artifact(world))
    world.clock.passes(days=9000)

    assert [] == gone(world, Retention())


def test_an_input_of_an_unfinished_job_and_the_results_of_a_kept_one_stay(world: World) -> None:
    taken, output = commit(world, an_artifact(world)), commit(world, an_artifact(world))
    world.register()
    job = world.a_job(State.RUNNING, uses=(taken.id,))
    world.clock.passes(days=30)
    assert [output.id] == [due.artifact.id for due in world.read(retention.look, TEN_DAYS, 0).due]

    world.report(job.id, State.SUCCEEDED, output_artifact_id=output.id)

    assert [] == [each for each in gone(world, TEN_DAYS) if each == output.id]
    with pytest.raises(NotFound):
        world.read(artifacts.get, taken.id)
    freeing = Retention(TEN_DAYS.policies, frees_results=True)
    assert [output.id] == gone(world, freeing)


def test_what_became_an_input_since_it_was_looked_at_stays(world: World) -> None:
    artifact = commit(world, an_artifact(world))
    world.clock.passes(days=30)
    due = [due.artifact.id for due in world.read(retention.look, TEN_DAYS, 0).due]
    world.create(uses=(artifact.id,))

    assert [artifact.id] == due
    assert world.write(retention.delete_due, TEN_DAYS, artifact.id) is None


def test_what_no_job_uses_goes_a_while_after_the_last_such_job_was_deleted(world: World) -> None:
    artifact = commit(world, an_artifact(world))
    job = world.create(uses=(artifact.id,))
    world.cancel(job.id)
    unused = Retention((Unused(DAY),))
    world.clock.passes(days=30)
    assert [] == gone(world, unused)

    world.delete(job.id)
    world.clock.passes(hours=23)
    assert [] == gone(world, unused)
    world.clock.passes(hours=1)

    assert [artifact.id] == gone(world, unused)


def test_failed_artifacts_go_after_a_while(world: World) -> None:
    artifact = an_artifact(world)
    world.clock.passes(days=1)
    fail(world)
    failures = Retention((Failures(DAY),))

    assert [] == gone(world, failures)
    world.clock.passes(days=1)
    assert [artifact.id] == gone(world, failures)


def test_all_pages_are_looked_at(world: World) -> None:
    old = [commit(world, an_artifact(world)).id for _ in range(5)]
    world.clock.passes(days=30)
    commit(world, an_artifact(world))
    found: list[str] = []

    after: int | None = 0
    while after is not None:
        page = world.read(retention.look, TEN_DAYS, after, 2)
        found += [due.artifact.id for due in page.due]
        after = page.last

    assert old == found
