"""Thirty-two claimers and five thousand jobs: each job is claimed once, and the records say so."""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cableferry.core.errors import Conflict
from cableferry.core.jobs import Draft, Filter, State
from cableferry.core.paging import Page
from cableferry.core.workers import Offer, Registration, Speaker
from cableferry.engine import jobs, queue, workers
from cableferry.store.tx import Store, Tx
from cableferry.testing import processes, stores
from cableferry.testing.postgres import Cluster
from tests.races import audit
from tests.races.audit import RULES
from tests.races.caller import Caller

pytestmark = [pytest.mark.race, pytest.mark.xdist_group("races")]

CLAIMERS = 32
JOBS = 5000

Claimer = Callable[[str, random.Random], list[str]]


def created(store: Store) -> list[str]:
    """The jobs, and the workers that will fight for them."""

    def work(tx: Tx) -> list[str]:
        for number in range(CLAIMERS):
            workers.register(tx, RULES, Registration(f"w{number}", "head-1", (Offer("embed", "gpu"),)))
        return [jobs.create(tx, RULES, Draft("embed", "gpu")).id for _ in range(JOBS)]

    return store.write(work)


def raced(claimers: list[Claimer]) -> dict[str, list[str]]:
    """Let all of them begin at once and go on until nothing is left; what each of them got."""
    begin = threading.Barrier(len(claimers))

    def run(number: int) -> list[str]:
        begin.wait(30)
        return claimers[number](f"w{number}", random.Random(number))

    with ThreadPoolExecutor(len(claimers)) as pool:
        outcomes = list(pool.map(run, range(len(claimers))))
    return {f"w{number}": ids for number, ids in enumerate(outcomes)}


def test_threads_on_sqlite_claim_each_job_once(tmp_path: Path) -> None:
    with stores.opened(stores.sqlite_url(tmp_path)) as store:
        made = created(store)

        claimed = raced([_polling(store), _batching(store)] * (CLAIMERS // 2))

        audit.each_claimed_once(store, made, claimed)


def _batching(store: Store) -> Claimer:
    """Asks for a few jobs at a time."""

    def claim(worker: str, chance: random.Random) -> list[str]:
        speaker, mine = Speaker(worker, None, f"worker:{worker}"), []
        while got := store.write(lambda tx: jobs.claim_many(tx, RULES, speaker, chance.randint(1, 5))):
            mine += [job.id for job in got]
        return mine

    return claim


def _polling(store: Store) -> Claimer:
    """Looks at the list and tries for some that it sees, as daemons in the field do."""

    def claim(worker: str, chance: random.Random) -> list[str]:
        speaker, mine = Speaker(worker, None, f"worker:{worker}"), []
        while seen := store.read(lambda tx: queue.find(tx, "emx2", Filter(State.READY, "embed", "gpu"), Page(20))).jobs:
            for job in chance.sample(seen, min(len(seen), 5)):
                try:
                    mine.append(store.write(lambda tx, id=job.id: jobs.claim(tx, RULES, id, speaker)).id)
                except Conflict:
                    continue
        return mine

    return claim


@pytest.fixture
def shared(postgres_cluster: Cluster) -> Iterator[str]:
    with stores.database(postgres_cluster) as url:
        yield url


@pytest.mark.postgres
def test_two_server_processes_on_postgres_hand_out_each_job_once(shared: str, tmp_path: Path) -> None:
    flags = ("--auth-off", "--database", shared)
    with (
        stores.opened(shared) as store,
        processes.running(tmp_path, *flags) as one,
        processes.running(tmp_path, *flags) as other,
    ):
        made = created(store)

        claimers = [_http(server.port, kind) for kind in (Caller.poll, Caller.batch) for server in (one, other)]
        claimed = raced(claimers * (CLAIMERS // 4))

        audit.each_claimed_once(store, made, claimed)


def _http(port: int, kind: Callable[[Caller, random.Random], list[str]]) -> Claimer:
    def claim(worker: str, chance: random.Random) -> list[str]:
        with Caller(port, worker) as caller:
            return kind(caller, chance)

    return claim
