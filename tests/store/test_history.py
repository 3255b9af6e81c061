"""Rows of history come back in order, word for word."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cableferry.core.jobs import Cause, Draft, Job, Payload, State, Transition
from cableferry.store import history, jobs
from cableferry.store.tx import Store
from tests.core.specimens import NOW, seconds

texts = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
payloads = st.builds(Payload, *[texts] * 7, st.none() | st.floats(0, 1))


def a_row(job: Job, seq: int, new: State, attempt: int = 1, payload: Payload | None = None) -> Transition:
    said = payload or Payload(worker="w1", detail=f"word {seq}")
    return Transition(job.key, seq, attempt, 1, None, new, None, "worker:w1", NOW + seconds(seq), said)


def a_job(store: Store, name: str = "j1") -> Job:
    return store.write(lambda tx: jobs.add(tx, name, "emx2", Draft("embed")))


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.none() | st.sampled_from(State),
            st.sampled_from(State),
            st.none() | st.sampled_from(Cause),
            texts,
            payloads,
        ),
        max_size=5,
    )
)
def test_a_history_comes_back_as_it_was_recorded(store: Store, said: list[tuple]) -> None:
    job = a_job(store, f"j{id(said)}")
    written = [
        Transition(job.key, seq, 1, seq, old, new, cause, actor, NOW + seconds(seq), payload)
        for seq, (old, new, cause, actor, payload) in enumerate(said, 1)
    ]

    store.write(lambda tx: history.record(tx, written))

    assert written == store.read(lambda tx: history.of_job(tx, job.key, 0, 100))
    store.write(lambda tx: jobs.delete(tx, job))
    assert [] == store.read(lambda tx: history.of_job(tx, job.key, 0, 100))


def test_a_history_is_read_on_from_where_one_was(store: Store) -> None:
    job = a_job(store)
    store.write(lambda tx: history.record(tx, [a_row(job, seq, State.RUNNING) for seq in (3, 1, 2, 4)]))

    assert [3, 4] == [row.seq for row in store.read(lambda tx: history.of_job(tx, job.key, 2, 100))]
    assert [1, 2] == [row.seq for row in store.read(lambda tx: history.of_job(tx, job.key, 0, 2))]


def test_the_reports_of_a_state_are_those_of_the_present_attempt_newest_first(store: Store) -> None:
    job = a_job(store)
    rows = [
        a_row(job, 1, State.SUBMITTED, attempt=0),
        a_row(job, 2, State.SUBMITTED),
        a_row(job, 3, State.RUNNING),
        a_row(job, 4, State.SUBMITTED),
    ]
    store.write(lambda tx: history.record(tx, rows))

    assert [4, 2] == [row.seq for row in store.read(lambda tx: history.reports(tx, job, State.SUBMITTED))]
