"""The logs of a job: who may continue them, what is read of them, and what becomes of them at its end."""

from datetime import timedelta

import pytest

from cableferry.core.errors import Conflict, Kind, NotFound, Refusal
from cableferry.core.jobs import State
from cableferry.core.logs import Chunk, Log
from cableferry.engine import jobs, logs, sweeps
from cableferry.engine.logs import Said, Settled
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import News
from tests.engine.world import World

S = State
NOW = timedelta(0)


def content(world: World, id: str, start: int = 0, attempt: int | None = None) -> bytes:
    window = world.read(logs.read, world.rules, id, "stdout", attempt)
    return world.read(logs.bytes_of, window, start, 2**20).content


def running(world: World) -> str:
    world.register()
    return world.a_job(S.RUNNING).id


def settled(world: World) -> list[Settled]:
    return world.read(logs.settled, world.rules, NOW)


def test_chunks_add_up_to_a_log(world: World) -> None:
    job = running(world)

    world.append(job, 0, b"one\n")
    log = world.append(job, 4, b"two\n\xff")

    assert (9, False) == (log.size_bytes, log.is_cut)
    assert b"one\ntwo\n\xff" == content(world, job)
    assert b"two\n\xff" == content(world, job, 4)


def test_a_chunk_that_comes_twice_changes_nothing(world: World) -> None:
    job = running(world)
    first = world.append(job, 0, b"one\n")
    world.clock.passes(seconds=1)

    assert first == world.append(job, 0, b"one\n")
    assert 8 == world.append(job, 2, b"e\ntwo\n").size_bytes
    assert b"one\ntwo\n" == content(world, job)


def test_other_bytes_at_the_same_place_are_refused(world: World) -> None:
    job = running(world)
    world.append(job, 0, b"one\n")

    with pytest.raises(Conflict) as caught:
        world.append(job, 0, b"oNe\n")

    assert (Kind.LOG_DIFFERS, 4) == (caught.value.kind, caught.value.facts["offset"])
    assert b"one\n" == content(world, job)


def test_a_log_is_kept_up_to_its_limit(world: World) -> None:
    job = running(world)
    world.append(job, 0, b"x" * 60, stream="stderr", most_bytes=100)

    cut = world.append(job, 0, b"y" * 60, most_bytes=100)
    more = world.append(job, 60, b"y" * 60, most_bytes=100)

    assert (40, True) == (cut.size_bytes, cut.is_cut)
    assert cut == more


@pytest.mark.parametrize("said", [{"worker": "w2"}, {"epoch": 7}, {"worker": "w2", "epoch": 1}])
def test_only_the_holder_continues_a_log(world: World, said: dict[str, object]) -> None:
    job = running(world)

    with pytest.raises(Conflict) as caught:
        world.append(job, 0, b"x", **said)

    assert Kind.STALE_LEASE is caught.value.kind


def test_a_fenced_worker_is_refused_and_the_next_attempt_begins_anew(world: World) -> None:
    world.register()
    job = world.a_job(S.CLAIMED)
    world.append(job.id, 0, b"first", epoch=job.epoch)
    report = world.write(lambda tx: jobs.give_back(tx, world.rules, _given_back(job.id)))
    for epoch in (None, job.epoch):
        with pytest.raises(Conflict, match=f"job {job.id}"):
            world.append(job.id, 5, b"x", epoch=epoch)
    again = world.claim(job.id)

    with pytest.raises(Conflict):
        world.append(job.id, 5, b"x", epoch=job.epoch)
    world.append(job.id, 0, b"second", epoch=again.epoch)

    assert (2, 2) == (report.attempt, again.attempt)
    assert (b"first", b"second") == (content(world, job.id, attempt=1), content(world, job.id))


def _given_back(id: str) -> jobs.Report:
    return jobs.Report(id, S.READY, jobs.Payload(worker="w1"), "worker:w1")


def test_one_bad_chunk_leaves_the_others_standing(world: World) -> None:
    job = running(world)
    said = [Said(each, "w1", None, "stdout", Chunk(0, b"x")) for each in (job, "j0", job)]

    outcomes = world.write(logs.append_many, world.rules, [*said, Conflict("no")], 2**20)

    kinds = [outcome.kind if isinstance(outcome, Refusal) else outcome.size_bytes for outcome in outcomes]
    assert [1, Kind.UNKNOWN_JOB, 1, Kind.ILLEGAL_MOVE] == kinds


def test_a_refused_chunk_leaves_no_log_behind(world: World) -> None:
    job = running(world)

    world.write(logs.append_many, world.rules, [Said(job, "w1", None, "stdout", Chunk(5, b"x"))], 2**20)

    assert [] == world.read(logs.find, world.rules, job)[1]


def test_a_log_of_many_rows_is_read_in_windows_and_from_its_end(world: World) -> None:
    job = running(world)
    lines = b"".join(b"line %d\n" % number for number in range(40_000))
    for start in range(0, len(lines), 200_000):
        world.append(job, start, lines[start : start + 200_000])
    window = world.read(logs.read, world.rules, job, "stdout")

    assert lines == content(world, job)
    assert lines[123_456:123_556] == world.read(logs.bytes_of, window, 123_456, 100).content
    assert b"line 39998\nline 39999\n" == world.read(logs.tail_of, window, 2, 2**20).content
    tail = world.read(logs.tail_of, window, 30_000, 2**20)
    assert (b"line 10000\n", len(lines)) == (tail.content[:11], tail.end)
    assert lines == world.read(logs.tail_of, window, 90_000, 2**20).content
    assert 50_000 == len(world.read(logs.tail_of, window, 90_000, 50_000).content)


def test_a_tail_of_nothing_is_nothing(world: World) -> None:
    job = running(world)
    window = world.read(logs.read, world.rules, job, "stdout")

    assert (None, b"") == (window.log, world.read(logs.tail_of, window, 5, 100).content)


def test_a_worker_hears_what_is_followed(world: World) -> None:
    job, other = running(world), world.a_job(S.RUNNING).id
    world.write(logs.watch, world.rules, job)

    assert (job,) == world.sync(holding=[job, other]).watched
    world.clock.passes(seconds=61)
    assert () == world.sync(holding=[job, other]).watched


def test_only_what_is_followed_is_told(world: World) -> None:
    job = running(world)
    world.append(job, 0, b"x")
    world.settle()
    world.append(job, 1, b"x")
    assert [] == world.settle()
    world.write(logs.watch, world.rules, job)

    world.append(job, 2, b"x")

    assert [News("log", f"{job}/stdout")] == world.settle()


def test_old_notes_of_followers_are_forgotten(world: World) -> None:
    job = running(world)
    world.write(logs.watch, world.rules, job)
    world.clock.passes(seconds=61)

    world.write(sweeps.purge)

    world.clock.passes(seconds=-30)
    assert () == world.sync(holding=[job]).watched


def test_the_logs_of_a_job_that_is_over_become_its_artifact(world: World) -> None:
    world.register()
    job = world.a_job(S.RUNNING)
    world.append(job.id, 0, b"out")
    world.append(job.id, 0, b"", stream="empty")
    assert [] == settled(world)
    world.report(job.id, S.FAILED, detail="exit_code=1")
    (found,) = settled(world)

    artifact = world.write(logs.put_away, world.rules, found, [_stored(found.logs[0])])

    after = world.get(job.id)
    assert artifact is not None
    assert ("log", "committed", after.log_artifact_id) == (artifact.type, artifact.stage, artifact.id)
    assert (S.FAILED, "exit_code=1") == (after.state, after.detail)
    assert [] == settled(world)
    with pytest.raises(Conflict) as caught:
        world.append(job.id, 3, b"late")
    assert Kind.LOG_CLOSED is caught.value.kind
    assert b"out" == content(world, job.id)


def _stored(log: Log) -> tuple[str, Blob]:
    return "stdout.log", Blob("ab" * 32, log.size_bytes, (Piece("p1", log.size_bytes),))


def test_a_chunk_that_comes_while_a_log_is_put_away_is_not_lost(world: World) -> None:
    job = running(world)
    world.append(job, 0, b"out")
    world.report(job, S.SUCCEEDED)
    (found,) = settled(world)
    world.append(job, 3, b"late")

    assert world.write(logs.put_away, world.rules, found, [_stored(found.logs[0])]) is None

    assert [7] == [each.logs[0].size_bytes for each in settled(world)]


def test_two_servers_make_one_artifact(world: World) -> None:
    job = running(world)
    world.append(job, 0, b"out")
    world.report(job, S.SUCCEEDED)
    (found,) = settled(world)
    stored = [_stored(found.logs[0])]

    outcomes = [world.write(logs.put_away, world.rules, found, stored) for _ in range(2)]

    assert [True, False] == [outcome is not None for outcome in outcomes]


def test_a_daemon_that_brings_the_log_itself_has_the_last_word(world: World) -> None:
    job = running(world)
    world.append(job, 0, b"out")
    world.report(job, S.SUCCEEDED)
    (found,) = settled(world)
    first = world.write(logs.put_away, world.rules, found, [_stored(found.logs[0])])
    assert first is not None
    again = world.a_job(S.RUNNING).id
    world.append(again, 0, b"out")
    world.report(again, S.SUCCEEDED, log_artifact_id=first.id)
    (found,) = settled(world)

    assert world.write(logs.put_away, world.rules, found, [_stored(found.logs[0])]) is None
    assert [] == settled(world)


def test_bytes_are_kept_for_a_while_and_then_only_the_artifact(world: World) -> None:
    job = running(world)
    world.append(job, 0, b"out")
    world.report(job, S.SUCCEEDED)
    (found,) = settled(world)
    world.write(logs.seal, found)
    world.clock.passes(seconds=60)
    world.write(logs.purge, timedelta(seconds=61))
    assert b"out" == content(world, job)

    assert not world.write(logs.purge, timedelta(seconds=59))

    with pytest.raises(NotFound, match="is not kept here any more"):
        content(world, job)


def test_bytes_go_in_portions_from_the_end(world: World) -> None:
    job = running(world)
    for number in range(4):
        world.append(job, number * 70_000, bytes([number]) * 70_000)
    world.report(job, S.SUCCEEDED)
    (found,) = settled(world)
    world.write(logs.seal, found)
    world.clock.passes(seconds=60)

    portions = 0
    while world.write(logs.purge, NOW, 3):
        portions += 1
        left = content(world, job)
        assert left == bytes([0]) * min(len(left), 70_000) + left[70_000:]

    assert portions == 2
    with pytest.raises(NotFound):
        content(world, job)


def test_a_log_goes_with_its_job(world: World) -> None:
    job = running(world)
    world.append(job, 0, b"out")
    world.write(logs.watch, world.rules, job)

    world.delete(job)

    with pytest.raises(NotFound):
        world.append(job, 3, b"x")
