"""Workers register, are heard of and go; one daemon at a time when it asks for that."""

from collections.abc import Callable

import pytest

from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.core.jobs import State
from cableferry.core.policy import Rules
from cableferry.core.workers import Offer
from cableferry.engine import workers
from cableferry.store.tx import Tx
from tests.core.specimens import a_session
from tests.engine.world import World, a_speaker

FIRST, SECOND = a_session("boot-0001"), a_session("boot-0002", "head-2", 17)

CALLS = [workers.get, workers.delete, lambda tx, rules, id: workers.heartbeat(tx, rules, a_speaker(id))]


def test_a_registered_worker_is_known_by_what_it_said(world: World) -> None:
    registered = world.register("w1", Offer("embed", "gpu", 4), Offer("align"))

    known = world.read(workers.get, world.rules, "w1")
    assert registered == known
    assert ("head-1", (Offer("embed", "gpu", 4), Offer("align"))) == (known.hostname, known.offers)
    assert world.clock.now == known.registered_at == known.seen_at


def test_registering_again_replaces_the_offers_and_keeps_the_first_time(world: World) -> None:
    first = world.register("w1", Offer("embed", "gpu", 4))
    world.clock.passes(seconds=60)

    second = world.register("w1", Offer("align", "cpu"))

    assert ((Offer("align", "cpu"),), first.registered_at) == (second.offers, second.registered_at)
    assert world.clock.now == second.seen_at
    assert second == world.read(workers.get, world.rules, "w1")


def test_a_heartbeat_says_that_the_worker_lives(world: World) -> None:
    world.register()
    world.clock.passes(seconds=60)

    world.write(workers.heartbeat, world.rules, a_speaker("w1", None))

    assert world.clock.now == world.read(workers.get, world.rules, "w1").seen_at


@pytest.mark.parametrize("call", CALLS)
def test_an_unknown_worker_is_not_found(world: World, call: Callable[[Tx, Rules, str], object]) -> None:
    with pytest.raises(NotFound, match="worker w0 not found") as refused:
        world.write(call, world.rules, "w0")

    assert Kind.UNKNOWN_WORKER is refused.value.kind


@pytest.mark.parametrize("call", CALLS)
def test_a_worker_of_another_contract_is_not_there(world: World, call: Callable[[Tx, Rules, str], object]) -> None:
    world.with_rules(pool="torc").register("w0")

    with pytest.raises(NotFound, match="worker w0 not found"):
        world.write(call, world.rules, "w0")


def test_one_name_is_one_worker_of_one_contract(world: World) -> None:
    world.register("w1")

    with pytest.raises(Conflict, match="which claims from pool emx2: take another name") as refused:
        world.with_rules(pool="torc").register("w1")

    assert Kind.NAME_TAKEN is refused.value.kind


def test_the_workers_of_a_pool_are_listed_by_name(world: World) -> None:
    for name in ("w2", "w1"):
        world.register(name)
    world.with_rules(pool="torc").register("w3")

    assert ["w1", "w2"] == [worker.id for worker in world.read(workers.find, world.rules)]


def test_a_removed_worker_keeps_its_leases_until_it_reports(world: World) -> None:
    world.register()
    job = world.a_job(State.RUNNING)

    world.write(workers.delete, world.rules, "w1")

    with pytest.raises(NotFound):
        world.read(workers.get, world.rules, "w1")
    assert State.SUCCEEDED is world.report(job.id, State.SUCCEEDED).state


def test_a_second_daemon_is_refused_while_the_first_one_lives(world: World) -> None:
    world.register("w1", session=FIRST)
    world.clock.passes(seconds=89)

    with pytest.raises(Conflict, match="in use by head-1") as refused:
        world.register("w1", session=SECOND)

    assert Kind.SESSION_CONFLICT is refused.value.kind
    assert FIRST == world.read(workers.get, world.rules, "w1").session


def test_a_second_daemon_takes_over_when_the_first_one_has_been_silent(world: World) -> None:
    world.register("w1", session=FIRST)
    world.clock.passes(seconds=90)

    world.register("w1", session=SECOND)

    known = world.read(workers.get, world.rules, "w1")
    assert (SECOND, world.clock.now) == (known.session, known.session_seen_at)
    with pytest.raises(Conflict, match="taken over by head-2") as refused:
        world.write(workers.heartbeat, world.rules, a_speaker("w1", FIRST.id))
    assert Kind.SESSION_REVOKED is refused.value.kind


def test_a_daemon_that_beats_keeps_its_session(world: World) -> None:
    world.register("w1", session=FIRST)
    for _ in range(3):
        world.clock.passes(seconds=60)
        world.write(workers.heartbeat, world.rules, a_speaker("w1", FIRST.id))

    with pytest.raises(Conflict):
        world.register("w1", session=SECOND)


def test_a_daemon_that_syncs_keeps_its_session(world: World) -> None:
    world.register("w1", session=FIRST)
    for _ in range(3):
        world.clock.passes(seconds=60)
        world.sync(session=FIRST.id)

    with pytest.raises(Conflict):
        world.register("w1", session=SECOND)


def test_words_without_a_session_do_not_keep_one_alive(world: World) -> None:
    world.register("w1", session=FIRST)
    for _ in range(3):
        world.clock.passes(seconds=60)
        world.write(workers.heartbeat, world.rules, a_speaker("w1", None))

    assert SECOND == world.register("w1", session=SECOND).session


def test_a_daemon_without_a_session_registers_as_before_and_ends_nobodys(world: World) -> None:
    world.register("w1", session=FIRST)
    world.clock.passes(seconds=10)

    again = world.register("w1", Offer("align"))

    assert (FIRST, (Offer("align"),)) == (again.session, again.offers)
    assert again == world.read(workers.get, world.rules, "w1")


def test_the_same_daemon_registers_as_often_as_it_likes(world: World) -> None:
    world.register("w1", session=FIRST)
    world.clock.passes(seconds=1)

    world.register("w1", session=FIRST)

    assert world.clock.now == world.read(workers.get, world.rules, "w1").session_seen_at


def test_a_beat_with_a_session_of_a_worker_that_keeps_none_counts_for_the_worker(world: World) -> None:
    world.register()
    world.clock.passes(seconds=5)

    world.write(workers.heartbeat, world.rules, a_speaker("w1", FIRST.id))

    known = world.read(workers.get, world.rules, "w1")
    assert (None, world.clock.now) == (known.session, known.seen_at)


def test_no_session_is_lost_to_time_in_which_no_server_lived(world: World) -> None:
    world.beat()
    world.register("w1", session=FIRST)
    world.clock.passes(hours=1)
    world.beat()

    with pytest.raises(Conflict) as refused:
        world.register("w1", session=SECOND)

    assert Kind.SESSION_CONFLICT is refused.value.kind
