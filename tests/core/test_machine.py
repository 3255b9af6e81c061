"""What a machine of states promises, and that the machine of jobs keeps it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core.jobs import FINAL, HELD, JOBS, State
from cableferry.core.machine import Machine

LIGHTS = Machine({"red": frozenset({"green"}), "green": frozenset({"red", "off"}), "off": frozenset()})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [("red", "green", True), ("red", "off", False), ("green", "off", True), ("off", "red", False)],
)
def test_a_machine_allows_the_moves_in_its_table_and_no_others(old: str, new: str, expected: bool) -> None:
    assert expected is LIGHTS.allows(old, new)


def test_a_state_without_moves_is_final() -> None:
    assert ["off"] == [light for light in LIGHTS.moves if LIGHTS.is_final(light)]


def test_a_machine_is_within_a_wider_one_and_not_the_other_way_round() -> None:
    narrower = Machine({"red": frozenset({"green"}), "green": frozenset[str]()})

    assert narrower.is_within(LIGHTS)
    assert not LIGHTS.is_within(Machine({**LIGHTS.moves, "green": frozenset({"red"})}))


def test_every_state_of_a_job_has_its_row() -> None:
    assert set(State) == set(JOBS.moves)


def test_no_move_of_a_job_leads_to_where_it_is() -> None:
    assert [] == [state for state in State if JOBS.allows(state, state)]


def test_three_states_of_a_job_are_final_and_four_are_held() -> None:
    assert {State.SUCCEEDED, State.FAILED, State.CANCELLED} == FINAL
    assert {State.CLAIMED, State.SUBMITTED, State.RUNNING, State.SUSPECT} == HELD


def test_a_job_can_be_called_off_wherever_it_is_before_its_end() -> None:
    assert [] == [state for state in State if state not in FINAL and not JOBS.allows(state, State.CANCELLED)]


def test_success_is_reached_only_from_running() -> None:
    before = {state for state in State if JOBS.allows(state, State.SUCCEEDED)}

    assert {State.RUNNING, State.SUSPECT} == before


def test_only_a_ready_job_can_be_claimed() -> None:
    assert [State.READY] == [state for state in State if JOBS.allows(state, State.CLAIMED)]


@given(st.lists(st.sampled_from(State), max_size=30))
def test_a_walk_along_legal_moves_never_leaves_a_final_state(wanted: list[State]) -> None:
    state, ends = State.NEW, 0
    for new in wanted:
        if JOBS.allows(state, new):
            state, ends = new, ends + (new in FINAL)

    assert ends == (state in FINAL)
