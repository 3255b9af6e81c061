"""The sentence that says why a job is where it is."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cableferry.core.explain import Claimable, Code, Explanation, Situation, explain
from cableferry.core.jobs import Job, State, Waiting
from cableferry.core.workers import Load, Offer, Worker
from tests.core.specimens import NOW, a_job, a_worker, seconds

LATER = NOW + seconds(90)
LONG_AGO = NOW - seconds(360)
S = State


def a_situation(job: Job, *known: Worker, **said: object) -> Situation:
    """What is seen 90 seconds after the job last moved, every worker able to take it and empty."""
    seen = Situation(
        job=job, workers=known, claimable=[Claimable(worker, []) for worker in known], ahead=0, waiting=Waiting(),
        silence=seconds(300), now=LATER,
    )  # fmt: skip
    return replace(seen, **said)


def a_full_worker(id: str) -> Claimable:
    return Claimable(a_worker(id, Offer("embed", "gpu", 1)), [Load("embed", "gpu", 1)])


W1, W2 = a_worker("w1"), a_worker("w2")
DRAINED = {"drained_at": LONG_AGO, "drained_by": "user:mia"}
QUIET = a_worker("w1", seen_at=LONG_AGO)
SENTENCES = [
    (
        a_situation(a_job()),
        Code.NO_WORKER,
        "No worker is registered, so nobody can run processor embed with profile gpu.",
    ),
    (
        a_situation(a_job(profile=None), W1, claimable=[]),
        Code.NOT_OFFERED,
        "The only registered worker does not offer processor embed.",
    ),
    (
        a_situation(a_job(), W1, W2, claimable=[]),
        Code.NOT_OFFERED,
        "None of the 2 registered workers offers processor embed with profile gpu.",
    ),
    (
        a_situation(a_job(), a_worker("w1", **DRAINED)),
        Code.WORKERS_DRAINED,
        "Worker w1 offering processor embed with profile gpu is being drained: it takes jobs again when somebody"
        " lets it.",
    ),
    (
        a_situation(a_job(), a_worker("w1", **DRAINED), a_worker("w2", **DRAINED)),
        Code.WORKERS_DRAINED,
        "All 2 live workers offering processor embed with profile gpu are being drained: they take jobs again when"
        " somebody lets them.",
    ),
    (
        a_situation(a_job(), a_worker("w1", **DRAINED), W2),
        Code.WAITING,
        "It waits for w2 to ask for work.",
    ),
    (
        a_situation(a_job(), QUIET),
        Code.WORKERS_SILENT,
        "Worker w1 offers processor embed with profile gpu, but was last seen 7 minutes ago.",
    ),
    (
        a_situation(a_job(), QUIET, a_worker("w2", seen_at=LONG_AGO - seconds(1))),
        Code.WORKERS_SILENT,
        "Worker w1 offers processor embed with profile gpu, the last heard of 2 that offer it,"
        " but was last seen 7 minutes ago.",
    ),
    (
        a_situation(a_job(), W1, claimable=[a_full_worker("w1")]),
        Code.WORKERS_FULL,
        "Worker w1 offering processor embed with profile gpu is full: it runs when one has room.",
    ),
    (
        a_situation(a_job(), W1, W2, claimable=[a_full_worker("w1"), a_full_worker("w2")]),
        Code.WORKERS_FULL,
        "All 2 live workers offering processor embed with profile gpu are full: it runs when one has room.",
    ),
    (a_situation(a_job(), W1), Code.WAITING, "It waits for w1 to ask for work."),
    (
        a_situation(a_job(), W1, W2, ahead=1),
        Code.WAITING,
        "It waits for w1, w2 to ask for work, behind 1 job of its kind.",
    ),
    (a_situation(a_job(), W1, ahead=7), Code.WAITING, "It waits for w1 to ask for work, behind 7 jobs of its kind."),
    (a_situation(a_job(S.CLAIMED), W1), Code.CLAIMED, "Worker w1 claimed it 90 seconds ago and prepares it."),
    (
        a_situation(a_job(S.CLAIMED, due_at=NOW + seconds(300), claimed_at=None), W1),
        Code.CLAIMED,
        "Worker w1 claimed it 90 seconds ago and prepares it;"
        " unless it is submitted by 2026-03-01 12:05:00 UTC the lease ends.",
    ),
    (
        a_situation(a_job(S.CLAIMED), W2),
        Code.CLAIMED,
        "Worker w1 claimed it 90 seconds ago and prepares it; that worker is no longer registered.",
    ),
    (
        a_situation(a_job(S.CLAIMED), QUIET),
        Code.CLAIMED,
        "Worker w1 claimed it 90 seconds ago and prepares it; that worker was last seen 7 minutes ago.",
    ),
    (
        a_situation(a_job(S.SUBMITTED, slurm_job_id="77"), W1, waiting=Waiting("Resources")),
        Code.IN_SCHEDULER,
        "It has been in the scheduler of worker w1 as job 77 for 90 seconds, waiting for: Resources.",
    ),
    (
        a_situation(a_job(S.SUBMITTED), W1, waiting=Waiting("Priority", NOW + seconds(3600))),
        Code.IN_SCHEDULER,
        "It has been in the scheduler of worker w1 for 90 seconds, waiting for: Priority,"
        " expected to start at 2026-03-01 13:00:00 UTC.",
    ),
    (
        a_situation(a_job(S.SUBMITTED), W1, waiting=Waiting(None, NOW)),
        Code.IN_SCHEDULER,
        "It has been in the scheduler of worker w1 for 90 seconds.",
    ),
    (
        a_situation(a_job(S.SUBMITTED, submitted_at=NOW - seconds(3510)), W1),
        Code.IN_SCHEDULER,
        "It has been in the scheduler of worker w1 for 1 hour.",
    ),
    (a_situation(a_job(S.RUNNING), W1), Code.RUNNING, "It has been running on worker w1 for 90 seconds."),
    (
        a_situation(a_job(S.RUNNING, phase="train", message="epoch 3", progress=0.5), W1),
        Code.RUNNING,
        "It has been running on worker w1 for 90 seconds (train, epoch 3, 50%).",
    ),
    (
        a_situation(a_job(S.SUSPECT, progress=0.0), W1),
        Code.RUNNING,
        "It has been running on worker w1 for 90 seconds (0%).",
    ),
    (a_situation(a_job(S.SUCCEEDED, detail="done"), W1), Code.SUCCEEDED, "It succeeded 90 seconds ago."),
    (a_situation(a_job(S.FAILED, detail="disk full")), Code.FAILED, "It failed 90 seconds ago: disk full."),
    (a_situation(a_job(S.FAILED)), Code.FAILED, "It failed 90 seconds ago."),
    (
        a_situation(a_job(S.CANCELLED, ended_at=None, detail="Cancelled by user:ann")),
        Code.CANCELLED,
        "It was cancelled 90 seconds ago: Cancelled by user:ann.",
    ),
    (a_situation(a_job(S.BLOCKED)), Code.HELD_BACK, "It is held back until something else releases it."),
]


@pytest.mark.parametrize(("seen", "code", "sentence"), SENTENCES, ids=[sentence for _, _, sentence in SENTENCES])
def test_a_job_is_explained(seen: Situation, code: Code, sentence: str) -> None:
    explained = explain(seen)

    assert (code, sentence) == (explained.code, explained.sentence)


def test_every_code_has_its_sentence() -> None:
    assert set(Code) == {code for _, code, _ in SENTENCES}


SPANS = [
    (-1, "0 seconds"),
    (1, "1 second"),
    (59, "59 seconds"),
    (60, "1 minute"),
    (119, "119 seconds"),
    (120, "2 minutes"),
    (3600, "1 hour"),
    (7199, "119 minutes"),
    (86400, "1 day"),
    (172800, "2 days"),
]


@pytest.mark.parametrize(("span", "words"), SPANS)
def test_a_span_is_told_as_a_person_says_it(span: int, words: str) -> None:
    explained = explain(a_situation(a_job(S.RUNNING), a_worker(seen_at=NOW + seconds(span)), now=NOW + seconds(span)))

    assert f"for {words}." in explained.sentence


def test_the_facts_of_a_waiting_job_let_a_program_see_what_the_sentence_says() -> None:
    expected = {
        "processor": "embed",
        "profile": "gpu",
        "workers": 2,
        "offering": 1,
        "ahead": 3,
        "waiting_seconds": 90.0,
        "worker_id": "w1",
    }

    assert expected == explain(a_situation(a_job(), W1, W2, claimable=[Claimable(W1, [])], ahead=3)).facts


def test_the_facts_of_a_silent_worker_say_when_it_was_heard_of() -> None:
    facts = explain(a_situation(a_job(), QUIET)).facts

    assert ("w1", LONG_AGO.isoformat()) == (facts["worker_id"], facts["last_seen_at"])


def test_the_facts_of_a_held_job_tell_its_lease() -> None:
    facts = explain(
        a_situation(a_job(S.SUBMITTED, due_at=LATER, slurm_job_id="77"), W1, waiting=Waiting("Priority", LATER))
    ).facts

    assert {
        "worker_id": "w1",
        "last_seen_at": NOW.isoformat(),
        "slurm_job_id": "77",
        "leased_until": LATER.isoformat(),
        "epoch": 1,
        "waiting_for": "Priority",
        "starts_at": LATER.isoformat(),
    } == facts


@given(
    st.sampled_from(State), st.lists(st.sampled_from([W1, W2, QUIET]), max_size=3), st.integers(0, 2), st.integers(0, 1)
)
def test_every_job_is_explained_in_one_sentence(state: State, known: list[Worker], ahead: int, full: int) -> None:
    claimable = [a_full_worker(worker.id) if full else Claimable(worker, []) for worker in known]

    explained: Explanation = explain(a_situation(a_job(state), *known, claimable=claimable, ahead=ahead))

    assert explained.sentence[0].isupper()
    assert explained.sentence.endswith(".")
    assert not isinstance(explained.facts.get("waiting_seconds"), timedelta)


KEPT = a_job(kept_for="w1")
KEPT_SENTENCES = [
    (a_situation(KEPT, W2, claimable=[]), Code.NO_WORKER, "It is kept for worker w1, which is not registered."),
    (a_situation(KEPT, W1, W2, claimable=[Claimable(W1, [])]), Code.WAITING, "It waits for w1 to ask for work."),
]


@pytest.mark.parametrize(("seen", "code", "sentence"), KEPT_SENTENCES)
def test_a_job_that_is_kept_for_a_worker_says_for_whom(seen: Situation, code: Code, sentence: str) -> None:
    told = explain(seen)

    assert (code, sentence, "w1") == (told.code, told.sentence, told.facts["kept_for"])
