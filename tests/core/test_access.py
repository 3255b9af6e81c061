"""Who may do what: each need against each kind of caller, and what belongs to whom."""

import msgspec
import pytest

from cableferry.core import access
from cableferry.core.access import Anyone, Caller, Claimant, Need, Person, Role
from cableferry.core.errors import Forbidden, Invalid
from cableferry.core.jobs import State
from tests.core.specimens import a_job, an_artifact

PEOPLE = {role: Person("ann", role) for role in Role}
WORKER = Claimant("w1", "credential")
TABLE: dict[Need, set[str]] = {
    Need.NOTHING: {"viewer", "editor", "manager", "owner", "worker", "anyone"},
    Need.READ: {"viewer", "editor", "manager", "owner", "worker", "anyone"},
    Need.CREATE: {"editor", "manager", "owner", "worker", "anyone"},
    Need.END: {"editor", "manager", "owner", "worker", "anyone"},
    Need.WORK: {"manager", "owner", "worker", "anyone"},
    Need.MANAGE: {"manager", "owner", "anyone"},
    Need.OWN: {"owner"},
    Need.SELF: {"viewer", "editor", "manager", "owner"},
}
CALLERS: dict[str, Caller] = {role.name.lower(): person for role, person in PEOPLE.items()} | {
    "worker": WORKER,
    "anyone": Anyone(),
}


@pytest.mark.parametrize(("need", "role"), [(Need.SELF, "Viewer"), (Need.MANAGE, "Manager"), (Need.OWN, "Owner")])
def test_a_worker_is_told_which_role_would_do(need: Need, role: str) -> None:
    with pytest.raises(Forbidden, match=f"the role {role}"):
        access.check(WORKER, need)


@pytest.mark.parametrize("need", Need)
@pytest.mark.parametrize("name", CALLERS)
def test_each_caller_may_what_the_table_says(need: Need, name: str) -> None:
    may = name in TABLE[need]
    try:
        access.check(CALLERS[name], need)
        assert may
    except Forbidden:
        assert not may


@pytest.mark.parametrize(
    ("caller", "may"),
    [
        pytest.param(WORKER, True, id="the worker that holds it"),
        pytest.param(Claimant("w2", "c"), False, id="another worker"),
        pytest.param(Claimant(None, "shared"), False, id="the shared secret without a worker"),
        pytest.param(Person("ann", Role.EDITOR), True, id="the editor it belongs to"),
        pytest.param(Person("bob", Role.EDITOR), False, id="another editor"),
        pytest.param(Person("bob", Role.MANAGER), True, id="a manager"),
        pytest.param(Anyone(), True, id="anyone while authentication is off"),
    ],
)
def test_a_job_is_ended_by_whose_it_is(caller: Caller, may: bool) -> None:
    job = msgspec.structs.replace(a_job(state=State.CLAIMED), worker="w1", submit_user="ann")
    try:
        access.check_end(caller, job)
        assert may
    except Forbidden:
        assert not may


def test_a_key_for_reading_does_nothing_else() -> None:
    access.check_may_write(True, Need.CREATE)
    access.check_may_write(False, Need.READ)

    with pytest.raises(Forbidden):
        access.check_may_write(False, Need.CREATE)


def test_a_worker_may_end_the_job_it_created() -> None:
    job = msgspec.structs.replace(a_job(state=State.READY), worker=None, created_by=WORKER.actor)

    access.check_end(WORKER, job)


def test_nobodys_job_is_ended_by_no_editor() -> None:
    with pytest.raises(Forbidden, match="nobody"):
        access.check_end(PEOPLE[Role.EDITOR], msgspec.structs.replace(a_job(state=State.READY), submit_user=None))


@pytest.mark.parametrize(
    ("caller", "named", "expected"),
    [
        (WORKER, None, "w1"),
        (WORKER, "w1", "w1"),
        (Claimant(None, "shared"), "w2", "w2"),
        (Person("ann", Role.MANAGER), "w2", "w2"),
        (Anyone(), None, None),
    ],
)
def test_a_request_speaks_for_the_worker_it_names(caller: Caller, named: str | None, expected: str | None) -> None:
    assert access.worker_named(caller, named) == expected


def test_a_worker_speaks_for_no_other() -> None:
    with pytest.raises(Forbidden, match="w2"):
        access.worker_named(WORKER, "w2")


@pytest.mark.parametrize(
    ("caller", "expected"),
    [(Person("ann", Role.EDITOR), "ann"), (WORKER, None), (Anyone(), "claimed")],
)
def test_a_job_belongs_to_the_user_and_to_whom_the_body_says_only_without_users(
    caller: Caller, expected: str | None
) -> None:
    assert access.submit_user(caller, "claimed") == expected


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        (Person("ann", Role.OWNER), "user:ann"),
        (WORKER, "worker:w1"),
        (Claimant(None, "shared"), "worker:(shared secret)"),
        (Anyone(), "anyone"),
        (Anyone("w1"), "worker:w1"),
    ],
)
def test_a_caller_has_a_name_for_the_history(caller: Caller, expected: str) -> None:
    assert caller.actor == expected


@pytest.mark.parametrize("role", Role)
def test_a_role_is_read_back_from_its_word(role: Role) -> None:
    assert access.role(access.word(role).lower()) is role


def test_an_unknown_role_is_refused_with_the_known_ones() -> None:
    with pytest.raises(Invalid, match="Viewer, Editor, Manager, Owner"):
        access.role("king")


@pytest.mark.parametrize(
    ("caller", "may"),
    [
        pytest.param(WORKER, True, id="the worker that created it"),
        pytest.param(Claimant("w2", "c"), False, id="another worker"),
        pytest.param(Person("ann", Role.EDITOR), False, id="an editor who did not"),
        pytest.param(Person("bob", Role.MANAGER), True, id="a manager"),
        pytest.param(Anyone(), True, id="anyone while authentication is off"),
    ],
)
def test_an_artifact_is_changed_by_whose_it_is(caller: Caller, may: bool) -> None:
    artifact = an_artifact(created_by="worker:w1")

    if may:
        access.check_own(caller, artifact)
    else:
        with pytest.raises(Forbidden, match="belongs to worker:w1"):
            access.check_own(caller, artifact)


@pytest.mark.parametrize(
    ("caller", "worker", "actor"),
    [
        (Anyone(), "w2", "worker:w2"),
        (Anyone(), None, "anyone"),
        (Claimant(None, "shared"), "w2", "worker:w2"),
        (WORKER, "w1", "worker:w1"),
        (PEOPLE[Role.MANAGER], "w2", "user:ann"),
    ],
)
def test_whoever_is_no_one_in_particular_is_the_worker_they_speak_for(
    caller: Caller, worker: str | None, actor: str
) -> None:
    assert actor == access.speaking(caller, worker)
