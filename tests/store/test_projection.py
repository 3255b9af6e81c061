"""Marks of jobs that look different: one for each job, and none is lost while its job is being shown."""

from cableferry.core.jobs import Draft
from cableferry.store import jobs, projection
from cableferry.store.projection import Mark
from cableferry.store.tx import Store


def marked(store: Store, most: int = 10) -> list[Mark]:
    return store.read(lambda tx: projection.marked(tx, "opeva", most))


def test_a_job_is_marked_once_however_often_it_changes(store: Store) -> None:
    for ids in (["j1"], ["j2", "j1"], ["j1"]):
        store.write(lambda tx, ids=ids: projection.mark(tx, "opeva", ids))

    assert {"j1", "j2"} == {mark.job for mark in marked(store)}
    assert 1 == len(marked(store, 1))


def test_a_job_that_is_shown_is_not_marked_any_more(store: Store) -> None:
    store.write(lambda tx: projection.mark(tx, "opeva", ["j1", "j2"]))

    gone = store.write(lambda tx: projection.unmark(tx, "opeva", projection.marked(tx, "opeva", 1)))

    assert (1, 1) == (gone, len(marked(store)))


def test_a_job_that_changes_while_it_is_shown_stays_marked(store: Store) -> None:
    store.write(lambda tx: projection.mark(tx, "opeva", ["j1"]))
    shown = marked(store)
    store.write(lambda tx: projection.mark(tx, "opeva", ["j1"]))

    assert 0 == store.write(lambda tx: projection.unmark(tx, "opeva", shown))
    assert ["j1"] == [mark.job for mark in marked(store)]


def test_all_jobs_of_a_pool_can_be_marked_and_no_others(store: Store) -> None:
    for name, pool in (("j1", "opeva"), ("j2", "opeva"), ("j3", "emx2")):
        store.write(lambda tx, name=name, pool=pool: jobs.add(tx, name, pool, Draft("x")))

    assert 2 == store.write(lambda tx: projection.mark_all(tx, "opeva"))
    assert {"j1", "j2"} == {mark.job for mark in marked(store)}
