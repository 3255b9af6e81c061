"""What becomes of a report, by the rules of its contract."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cableferry.core.jobs import FINAL, HELD, JOBS, Cause, Payload, Report, State, Wish
from cableferry.core.policy import Repeats, Rules
from cableferry.core.reports import Verdict, judge, steps
from cableferry.wire.opeva import words
from tests.core.specimens import NEVER, a_job

S = State
STATES = st.sampled_from(State)
RULES = Rules(pool="emx2", moves=JOBS, timeouts=NEVER, word=lambda state, wish, cause: state.value)


def a_report(state: State, cause: Cause | None = None) -> Report:
    return Report("j17", state, Payload(worker="w1"), "worker:w1", cause)


VERDICTS = [
    ("a legal next state moves the job", S.CLAIMED, S.SUBMITTED, Verdict.MOVE),
    ("a failure before the submission moves it too", S.CLAIMED, S.FAILED, Verdict.MOVE),
    ("the end of a running job moves it", S.RUNNING, S.SUCCEEDED, Verdict.MOVE),
    ("a user calls off a waiting job", S.READY, S.CANCELLED, Verdict.MOVE),
    ("the same state of a held job is a note", S.SUBMITTED, S.SUBMITTED, Verdict.NOTE),
    ("a claimed job may be spoken of as claimed", S.CLAIMED, S.CLAIMED, Verdict.NOTE),
    ("nobody reports on a job nobody holds", S.READY, S.READY, Verdict.CONFLICT),
    ("a claim is not reported but asked for", S.READY, S.CLAIMED, Verdict.CONFLICT),
    ("no job goes back", S.RUNNING, S.SUBMITTED, Verdict.CONFLICT),
    ("no job skips its run", S.SUBMITTED, S.SUCCEEDED, Verdict.CONFLICT),
    ("an end is not noted twice", S.FAILED, S.FAILED, Verdict.CONFLICT),
    ("an end is not taken back", S.FAILED, S.SUCCEEDED, Verdict.CONFLICT),
]


@pytest.mark.parametrize(("old", "new", "expected"), [v[1:] for v in VERDICTS], ids=[v[0] for v in VERDICTS])
def test_a_report_moves_a_job_or_is_a_note_or_contradicts(old: State, new: State, expected: Verdict) -> None:
    assert expected is judge(a_job(old), a_report(new), RULES)


@given(STATES, STATES)
def test_a_report_moves_a_job_only_along_the_machine_and_never_into_a_claim(old: State, new: State) -> None:
    is_move = judge(a_job(old), a_report(new), RULES) is Verdict.MOVE

    assert is_move == (JOBS.allows(old, new) and new is not S.CLAIMED)


@given(STATES, STATES)
def test_only_a_held_job_gathers_notes(old: State, new: State) -> None:
    is_note = judge(a_job(old), a_report(new), RULES) is Verdict.NOTE

    assert is_note == (old is new and old in HELD)


@given(STATES)
def test_a_final_job_takes_no_report(new: State) -> None:
    assert {Verdict.CONFLICT} == {judge(a_job(old), a_report(new), RULES) for old in FINAL}


STRICT = replace(RULES, word=words.word, moves=words.MOVES, stopping=words.STRICTLY_STOPPING, repeats=Repeats.OF_STATE)
LENIENT = replace(STRICT, stopping=words.STOPPING, skipped=words.SKIPPED)
STOP = Wish.STOP
M, R, C = Verdict.MOVE, Verdict.REPEAT, Verdict.CONFLICT

# what becomes of each word that a worker can say, where the job is said to be what stands on the left
REPORTED = {
    #                 running finished failed stopped canceled dispatched
    "queued":         (C,     C,       C,     C,      M,       C),
    "dispatched":     (M,     M,       M,     C,      M,       R),
    "running":        (R,     M,       M,     M,      M,       C),
    "stop_requested": (C,     M,       M,     M,      M,       C),
    "finished":       (C,     R,       C,     C,      C,       C),
    "failed":         (C,     C,       R,     C,      C,       C),
    "stopped":        (C,     C,       C,     R,      C,       C),
    "canceled":       (C,     C,       C,     C,      R,       C),
}  # fmt: skip
WORDS_SAID = ("running", "finished", "failed", "stopped", "canceled", "dispatched")
JOBS_AT = {
    "queued": a_job(S.READY),
    "dispatched": a_job(S.CLAIMED),
    "running": a_job(S.RUNNING),
    "stop_requested": a_job(S.RUNNING, wish=STOP),
    "finished": a_job(S.SUCCEEDED),
    "failed": a_job(S.FAILED, cause=Cause.SILENT),
    "stopped": a_job(S.CANCELLED, cause=Cause.STOPPED, wish=STOP),
    "canceled": a_job(S.CANCELLED),
}
CASES = [(at, said, verdict) for at, row in REPORTED.items() for said, verdict in zip(WORDS_SAID, row, strict=True)]


def a_word(word: str) -> Report:
    said = words.SAID[word]
    return a_report(said.state, said.cause)


@pytest.mark.parametrize(("at", "said", "expected"), CASES, ids=[f"{at} {said}" for at, said, _ in CASES])
def test_a_container_worker_says_of_its_job(at: str, said: str, expected: Verdict) -> None:
    assert at == words.word(JOBS_AT[at].state, JOBS_AT[at].wish, JOBS_AT[at].cause)
    assert expected is judge(JOBS_AT[at], a_word(said), LENIENT)


@pytest.mark.parametrize("at", ["dispatched", "stop_requested"])
def test_a_strict_contract_throws_a_late_result_away(at: str) -> None:
    assert C is judge(JOBS_AT[at], a_word("finished"), STRICT)
    assert M is judge(JOBS_AT[at], a_word("failed"), STRICT)


def test_a_job_that_was_asked_to_stop_before_it_ran_stops_and_does_not_begin() -> None:
    job = a_job(S.CLAIMED, wish=STOP)

    assert [C, M, M, M] == [judge(job, a_word(said), LENIENT) for said in WORDS_SAID[:4]]


@pytest.mark.parametrize("wish", [None, STOP])
def test_a_result_that_was_never_seen_running_passes_through_its_run(wish: Wish | None) -> None:
    assert (S.RUNNING, S.SUCCEEDED) == steps(a_job(S.CLAIMED, wish=wish), a_word("finished"), LENIENT)


def test_a_worker_that_says_that_it_is_stopping_says_something_once() -> None:
    report = replace(a_report(S.RUNNING), wish=STOP)

    assert Verdict.NOTE is judge(a_job(S.RUNNING), report, LENIENT)
    assert R is judge(a_job(S.RUNNING, wish=STOP), report, LENIENT)


@given(STATES, STATES, st.sampled_from([None, STOP]), st.sampled_from([None, *Cause]))
def test_no_report_leads_a_job_where_no_job_may_go(
    old: State, new: State, wish: Wish | None, cause: Cause | None
) -> None:
    if old not in words.MOVES.moves:
        return
    path = (old, *steps(a_job(old, wish=wish), a_report(new, cause), LENIENT))

    assert all(JOBS.allows(before, after) for before, after in itertools.pairwise(path))


@pytest.mark.parametrize("state", words.WORDS)
def test_only_a_held_job_is_reported_as_stopping(state: State) -> None:
    rules = replace(RULES, word=words.word, repeats=Repeats.OF_STATE)
    stopping = Report("j17", state, Payload(worker="w1"), "worker:w1", wish=Wish.STOP)

    assert (state not in HELD) == (judge(a_job(state), stopping, rules) is Verdict.CONFLICT)
