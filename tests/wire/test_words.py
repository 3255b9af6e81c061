"""The protocol's words cover what its jobs can be, and its machine lies within ours."""

import pytest

from cableferry.core.errors import Invalid
from cableferry.core.jobs import JOBS, Cause, State
from cableferry.wire.emx2 import words
from cableferry.wire.emx2.words import LINKS, MOVES, STATES, WORDS

SPECIFIED_LINKS = {
    "PENDING": {"claim", "cancel"},
    "CLAIMED": {"submit", "cancel"},
    "SUBMITTED": {"start", "cancel"},
    "STARTED": {"complete", "fail", "cancel"},
    "COMPLETED": set(),
    "FAILED": set(),
    "CANCELLED": set(),
}
SPECIFIED_MOVES = {
    "PENDING": {"CLAIMED", "CANCELLED"},
    "CLAIMED": {"SUBMITTED", "FAILED", "CANCELLED"},
    "SUBMITTED": {"STARTED", "FAILED", "CANCELLED"},
    "STARTED": {"COMPLETED", "FAILED", "CANCELLED"},
    "COMPLETED": set(),
    "FAILED": set(),
    "CANCELLED": set(),
}


def test_every_state_the_protocol_reaches_has_its_word_and_its_links() -> None:
    reached = {State.READY} | {new for news in MOVES.moves.values() for new in news}

    assert reached == set(MOVES.moves) == set(WORDS) == set(LINKS)


def test_the_words_are_those_of_the_protocol() -> None:
    assert list(SPECIFIED_LINKS) == list(WORDS.values())


def test_no_two_states_share_a_word() -> None:
    assert WORDS == {state: word for word, state in STATES.items()}


def test_the_moves_are_those_of_the_protocol() -> None:
    assert SPECIFIED_MOVES == {WORDS[old]: {WORDS[new] for new in news} for old, news in MOVES.moves.items()}


def test_every_move_of_the_protocol_is_a_move_of_a_job() -> None:
    assert MOVES.is_within(JOBS)


def test_the_links_are_those_of_the_protocol() -> None:
    assert SPECIFIED_LINKS == {WORDS[state]: set(names) for state, names in LINKS.items()}


@pytest.mark.parametrize("state", WORDS)
def test_a_word_is_read_as_the_state_it_was_written_for(state: State) -> None:
    assert state is words.state(WORDS[state])


@pytest.mark.parametrize("word", ["", "pending", "RUNNING", "PENDING ", "x" * 1000])
def test_any_other_word_is_refused_with_the_list_of_known_ones(word: str) -> None:
    with pytest.raises(Invalid, match="use one of PENDING, CLAIMED, SUBMITTED, STARTED, COMPLETED") as refused:
        words.state(word)

    assert len(refused.value.detail) < 200


CAUSES = [
    (State.FAILED, None, Cause.ERROR),
    (State.FAILED, "slurm_state=FAILED; exit_code=1:0", Cause.ERROR),
    (State.FAILED, "input_hash_mismatch: artifact a1", Cause.MISMATCH),
    (State.FAILED, "timeout: job timeout_seconds (60s) exceeded after 61s", Cause.TIMEOUT),
    (State.FAILED, "slurm_state=TIMEOUT; exit_code=0:15", Cause.TIMEOUT),
    (State.CANCELLED, "timeout: told to stop", None),
    (State.SUCCEEDED, "timeout", None),
]


@pytest.mark.parametrize(("state", "detail", "cause"), CAUSES)
def test_the_cause_of_a_failure_is_read_from_its_detail(state: State, detail: str | None, cause: Cause | None) -> None:
    assert cause is words.cause(state, detail)


@pytest.mark.parametrize("word", ["out-of-memory", "node-failed", "staging", "lost", "signal"])
def test_a_worker_may_name_the_cause_of_a_failure(word: str) -> None:
    assert word == words.cause(State.FAILED, "timeout", word)
    assert words.cause(State.SUCCEEDED, None, word) is None


@pytest.mark.parametrize("word", ["silent", "offline", "stopped", "bad luck"])
def test_what_only_the_server_knows_is_no_cause_of_a_worker(word: str) -> None:
    with pytest.raises(Invalid, match="unknown cause"):
        words.cause(State.FAILED, None, word)
