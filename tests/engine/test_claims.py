"""Who gets which job: by offer, room, priority and age, and each job once."""

import pytest

from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.core.jobs import State
from cableferry.core.workers import Offer
from tests.core.specimens import a_session
from tests.engine.world import World

S = State


def test_a_claim_leases_the_whole_job_to_its_worker(world: World) -> None:
    world.register()
    job = world.create()

    claimed = world.claim(job.id)

    assert (S.CLAIMED, "w1", 1, 1) == (claimed.state, claimed.worker, claimed.epoch, claimed.attempt)
    assert world.clock.now == claimed.claimed_at
    assert claimed == world.get(job.id)


def test_a_claim_stands_in_the_history_with_who_asked(world: World) -> None:
    world.register()
    job = world.create(created_by="user:ann")

    world.claim(job.id)

    rows = [(row.seq, row.old, row.new, row.actor, row.payload.detail) for row in world.history(job.id)]
    assert [
        (1, None, S.READY, "user:ann", "Job created"),
        (2, S.READY, S.CLAIMED, "worker:w1", "Claimed by worker w1"),
    ] == rows


def test_a_claimed_job_is_refused_to_the_next_one_and_names_its_holder(world: World) -> None:
    world.register()
    world.register("w2")
    job = world.create()
    world.claim(job.id)

    with pytest.raises(Conflict, match="already claimed by w1") as refused:
        world.claim(job.id, "w2")

    assert (Kind.ALREADY_CLAIMED, "w1") == (refused.value.kind, refused.value.facts["holder"])
    assert "w1" == world.get(job.id).worker


def test_a_job_that_is_over_is_not_claimed(world: World) -> None:
    world.register()
    job = world.create()
    world.cancel(job.id)

    with pytest.raises(Conflict) as refused:
        world.claim(job.id)

    assert Kind.ALREADY_ENDED is refused.value.kind


def test_a_job_that_never_was_is_not_found(world: World) -> None:
    world.register()

    with pytest.raises(NotFound) as refused:
        world.claim("x" * 100)

    assert (Kind.UNKNOWN_JOB, "there is no job " + "x" * 64) == (refused.value.kind, refused.value.detail)


def test_an_unregistered_worker_claims_nothing(world: World) -> None:
    job = world.create()

    for claim in (lambda: world.claim(job.id), lambda: world.claim_many(1)):
        with pytest.raises(Conflict, match="worker w1 is not registered") as refused:
            claim()
        assert Kind.UNKNOWN_WORKER is refused.value.kind


def test_a_worker_claims_only_what_it_offers(world: World) -> None:
    world.register("w1", Offer("embed", "gpu"))
    job = world.create("align", "cpu")

    with pytest.raises(Conflict) as refused:
        world.claim(job.id)

    assert Kind.NOT_OFFERED is refused.value.kind
    assert [] == world.claim_many(5)


OPEN = [
    ("any processor and profile", Offer("any", "any")),
    ("every processor and profile", Offer("*", "*")),
    ("every profile of the processor", Offer("embed", "*")),
    ("its processor without a profile", Offer("embed", None)),
    ("every processor with its profile", Offer("any", "gpu")),
]


@pytest.mark.parametrize("offer", [offer for _, offer in OPEN], ids=[name for name, _ in OPEN])
def test_an_open_offer_claims_what_it_does_not_name(world: World, offer: Offer) -> None:
    world.register("w1", offer)
    one, other = world.create(), world.create()

    assert one.id == world.claim(one.id).id
    assert [other.id] == [job.id for job in world.claim_many(5)]


def test_a_job_without_a_profile_goes_to_any_profile_of_its_processor(world: World) -> None:
    world.register("w1", Offer("embed", "gpu"))
    one, other = world.create(profile=None), world.create(profile=None)

    assert one.id == world.claim(one.id).id
    assert [other.id] == [job.id for job in world.claim_many(5)]


def test_a_wildcard_in_a_job_is_a_name_like_any_other(world: World) -> None:
    world.register("w1", Offer("embed", "gpu"))
    world.create("*", "any")

    assert [] == world.claim_many(5)


def test_a_worker_never_holds_more_than_it_offers(world: World) -> None:
    world.register("w1", Offer("embed", "gpu", 2))
    waiting = [world.create() for _ in range(4)]

    claimed = [job.id for job in world.claim_many(10)]
    with pytest.raises(Conflict) as refused:
        world.claim(waiting[3].id)

    assert [job.id for job in waiting[:2]] == claimed
    assert Kind.NO_ROOM is refused.value.kind
    assert [] == world.claim_many(10)


def test_an_ended_job_gives_its_room_back(world: World) -> None:
    world.register("w1", Offer("embed", "gpu", 1))
    first, second = world.create(), world.create()
    world.claim(first.id)
    world.report(first.id, S.FAILED)

    assert [second.id] == [job.id for job in world.claim_many(10)]


def test_each_offer_has_its_own_room(world: World) -> None:
    world.register("w1", Offer("embed", "gpu", 1), Offer("align", "cpu", 2))
    for _ in range(3):
        world.create("embed", "gpu")
        world.create("align", "cpu")

    claimed = [(job.processor, job.profile) for job in world.claim_many(10)]

    assert [("align", "cpu"), ("align", "cpu"), ("embed", "gpu")] == sorted(claimed)


def test_one_claim_of_many_does_not_overfill_an_open_offer(world: World) -> None:
    world.register("w1", Offer("*", "*", 3))
    for processor in ("a", "b", "c"):
        for _ in range(3):
            world.create(processor, None)

    assert 3 == len(world.claim_many(10))
    assert [] == world.claim_many(10)


def test_a_worker_that_offers_nothing_gets_nothing(world: World) -> None:
    world.register("w1", Offer("embed", "gpu", 0))
    world.create()

    assert [] == world.claim_many(10)


def test_jobs_are_claimed_by_priority_then_age_over_all_that_is_offered(world: World) -> None:
    world.register("w1", Offer("embed", "gpu"), Offer("align", "cpu"))
    late = world.create("embed", "gpu")
    low = world.create("align", "cpu", priority=-5)
    later = world.create("align", "cpu")
    unprofiled = world.create("embed", None)
    high = world.create("embed", "gpu", priority=10)

    claimed = [job.id for job in world.claim_many(4)]

    assert [high.id, late.id, later.id, unprofiled.id] == claimed
    assert [low.id] == [job.id for job in world.claim_many(4)]


def test_a_claim_of_many_takes_no_more_than_asked(world: World) -> None:
    world.register()
    for _ in range(5):
        world.create()

    assert 2 == len(world.claim_many(2))
    assert 3 == len(world.claim_many(1000))


def test_every_claimed_job_of_many_has_its_own_lease_and_history(world: World) -> None:
    world.register()
    created = [world.create() for _ in range(3)]

    claimed = world.claim_many(3)

    assert [job.id for job in created] == [job.id for job in claimed]
    for job in claimed:
        assert (S.CLAIMED, "w1", 1) == (job.state, job.worker, job.epoch)
        assert job == world.get(job.id)
        assert [S.READY, S.CLAIMED] == [row.new for row in world.history(job.id)]


def test_a_daemon_whose_session_was_taken_over_claims_nothing(world: World) -> None:
    from_before, now = "boot-0001", "boot-0002"
    world.register("w1", session=a_session(from_before))
    world.clock.passes(seconds=90)
    world.register("w1", session=a_session(now))
    job = world.create()

    for claim in (lambda: world.claim(job.id, session=from_before), lambda: world.claim_many(1, session=from_before)):
        with pytest.raises(Conflict) as refused:
            claim()
        assert Kind.SESSION_REVOKED is refused.value.kind
    assert job.id == world.claim(job.id, session=now).id
