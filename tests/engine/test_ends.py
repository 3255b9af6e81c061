"""How a job is called off and how it is deleted, and who may do either."""

import pytest

from cableferry.core.access import Anyone, Caller, Claimant, Person, Role
from cableferry.core.errors import Conflict, Forbidden, Kind, NotFound
from cableferry.core.jobs import State
from tests.engine.world import World

S = State
ALIVE = [S.READY, S.CLAIMED, S.SUBMITTED, S.RUNNING]
OVER = [S.SUCCEEDED, S.FAILED, S.CANCELLED]
ANN = Person("ann", Role.EDITOR)
W1, W2 = Claimant("w1", "c1"), Claimant("w2", "c2")


@pytest.mark.parametrize("state", ALIVE)
def test_a_job_is_called_off_wherever_it_is_before_its_end(world: World, state: State) -> None:
    world.register()
    job = world.a_job(state)

    world.cancel(job.id)

    cancelled = world.get(job.id)
    assert (S.CANCELLED, world.clock.now, "Cancelled by user:mia") == (
        cancelled.state,
        cancelled.ended_at,
        cancelled.detail,
    )
    last = world.history(job.id)[-1]
    assert (state, S.CANCELLED, "user:mia") == (last.old, last.new, last.actor)


@pytest.mark.parametrize("state", OVER)
def test_a_job_that_is_over_is_not_called_off(world: World, state: State) -> None:
    world.register()
    job = world.a_job(state)

    with pytest.raises(Conflict, match=f"already {world.rules.word(state, None, None)}") as refused:
        world.cancel(job.id)

    assert (Kind.ALREADY_ENDED, state) == (refused.value.kind, refused.value.facts["current_state"])
    assert job == world.get(job.id)


def test_a_job_that_never_was_is_not_called_off(world: World) -> None:
    with pytest.raises(NotFound, match="there is no job j0"):
        world.cancel("j0")


def test_a_worker_whose_job_was_called_off_cannot_complete_it(world: World) -> None:
    world.register()
    job = world.a_job(S.RUNNING)
    world.cancel(job.id)

    with pytest.raises(Conflict, match="from CANCELLED to COMPLETED: it is over"):
        world.report(job.id, S.SUCCEEDED)


MAY = [
    ("a Manager", Person("mia", Role.MANAGER)),
    ("whoever it belongs to", ANN),
    ("the worker that holds it", W1),
    ("anyone while authentication is off", Anyone()),
]
MAY_NOT = [
    ("another Editor", Person("bob", Role.EDITOR)),
    ("another worker", W2),
    ("the shared secret for no worker", Claimant(None, "shared")),
]


@pytest.mark.parametrize("caller", [caller for _, caller in MAY], ids=[name for name, _ in MAY])
def test_a_job_is_ended_by(world: World, caller: Caller) -> None:
    world.register()

    assert S.CANCELLED is world.cancel(world.a_job(S.RUNNING, submit_user="ann").id, caller).state
    world.delete(world.a_job(S.RUNNING, submit_user="ann").id, caller)


@pytest.mark.parametrize("caller", [caller for _, caller in MAY_NOT], ids=[name for name, _ in MAY_NOT])
def test_a_job_is_not_ended_by(world: World, caller: Caller) -> None:
    world.register()
    job = world.a_job(S.RUNNING, submit_user="ann")

    for end in (world.cancel, world.delete):
        with pytest.raises(Forbidden) as refused:
            end(job.id, caller)
        assert Kind.NOT_YOURS is refused.value.kind
    assert job == world.get(job.id)


@pytest.mark.parametrize("caller", [caller for _, caller in MAY_NOT], ids=[name for name, _ in MAY_NOT])
def test_a_job_that_is_over_is_not_deleted_by(world: World, caller: Caller) -> None:
    world.register()
    job = world.a_job(S.SUCCEEDED, submit_user="ann")

    with pytest.raises(Forbidden):
        world.delete(job.id, caller)

    assert job == world.get(job.id)


def test_a_worker_ends_what_it_created(world: World) -> None:
    job = world.create(created_by=W2.actor)

    assert S.CANCELLED is world.cancel(job.id, W2).state


@pytest.mark.parametrize("state", OVER)
def test_a_job_that_is_over_is_deleted_with_its_history(world: World, state: State) -> None:
    world.register()
    job = world.a_job(state)

    world.delete(job.id)

    for look in (world.get, world.history):
        with pytest.raises(NotFound, match=f"job {job.id} was deleted: stop working on it") as refused:
            look(job.id)
        assert Kind.DELETED_JOB is refused.value.kind
    assert {} == world.tallies()


@pytest.mark.parametrize("state", ALIVE)
def test_a_job_that_is_not_over_is_ended_and_deleted_where_the_contract_says_so(world: World, state: State) -> None:
    world.register()
    job = world.a_job(state)

    world.delete(job.id)

    with pytest.raises(NotFound):
        world.get(job.id)


@pytest.mark.parametrize("state", ALIVE)
def test_a_job_that_is_not_over_is_kept_where_the_contract_says_so(world: World, state: State) -> None:
    careful = world.with_rules(ends_running_on_delete=False)
    careful.register()
    job = careful.a_job(state)

    with pytest.raises(Conflict, match="cancel it first") as refused:
        careful.delete(job.id)

    assert (Kind.NOT_ENDED, state) == (refused.value.kind, refused.value.facts["current_state"])
    assert job == careful.get(job.id)


def test_a_deleted_job_is_told_as_deleted_to_whoever_still_works_on_it(world: World) -> None:
    world.register()
    job = world.a_job(S.RUNNING)
    world.delete(job.id)

    calls = [
        lambda: world.report(job.id, S.SUCCEEDED),
        lambda: world.claim(job.id),
        lambda: world.cancel(job.id),
        lambda: world.delete(job.id),
    ]

    for call in calls:
        with pytest.raises(NotFound) as refused:
            call()
        assert Kind.DELETED_JOB is refused.value.kind


def test_a_deleted_job_leaves_nothing_but_its_tombstone(world: World) -> None:
    world.register()
    kept, gone = world.a_job(S.RUNNING), world.a_job(S.RUNNING)

    world.delete(gone.id)

    assert {(S.RUNNING, "embed", "gpu"): 1} == world.tallies()
    assert kept == world.get(kept.id)


def test_a_worker_has_room_again_when_its_job_was_deleted(world: World) -> None:
    world.register()
    world.delete(world.a_job(S.RUNNING).id)

    assert [] == world.sync(holding=[]).claimed
    assert world.create().id == world.claim_many(1)[0].id
