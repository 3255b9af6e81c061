"""Configurations by name, and the one that a job keeps whatever becomes of the name."""

from cableferry.core.jobs import Draft
from cableferry.store import configs, jobs
from cableferry.store.tx import Store, Tx


def test_a_name_stands_for_its_latest_text(store: Store) -> None:
    def work(tx: Tx) -> tuple[list[str], str | None, int, str | None]:
        configs.put(tx, "opeva", "b.yaml", "b: 1")
        configs.put(tx, "opeva", "a.yaml", "a: 1")
        configs.put(tx, "opeva", "a.yaml", "a: 2")
        names, text = configs.names(tx, "opeva"), configs.get(tx, "opeva", "a.yaml")
        return names, text, configs.delete(tx, "opeva", "a.yaml"), configs.get(tx, "opeva", "a.yaml")

    assert (["a.yaml", "b.yaml"], "a: 2", 1, None) == store.write(work)
    assert [] == store.read(lambda tx: configs.names(tx, "emx2"))


def test_a_job_keeps_what_it_was_launched_with_until_it_is_gone(store: Store) -> None:
    job = store.write(lambda tx: jobs.add(tx, "j1", "opeva", Draft("simulation")))
    store.write(lambda tx: configs.keep(tx, job.key, "a: 1"))

    assert "a: 1" == store.read(lambda tx: configs.of_job(tx, job.key))
    store.write(lambda tx: jobs.delete(tx, job))
    assert None is store.read(lambda tx: configs.of_job(tx, job.key))
