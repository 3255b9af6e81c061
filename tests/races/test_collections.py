"""Two servers on one database and one store: what one of them is just taking, the other one takes for an orphan."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest

from cableferry.testing import processes, stores
from cableferry.testing.postgres import Cluster
from tests.crash.bringing import Bringer, collect
from tests.crash.test_bytes import KEEPING, PLACES, Kept, read_back

pytestmark = [pytest.mark.race, pytest.mark.postgres, pytest.mark.xdist_group("races")]

BRINGERS = 4
ANSWERS = 200
# the bytes were given up, or their temporary file is gone: nothing was kept, and the client sends them again
AGAIN = frozenset({503})


def test_no_collection_harms_what_another_server_takes(tmp_path: Path, postgres_cluster: Cluster) -> None:
    bringers = [Bringer(number) for number in range(2 * BRINGERS)]
    with stores.database(postgres_cluster) as url:
        kept = Kept(tmp_path / "shared", {"CABLEFERRY_ARTIFACTS__STORE": str(tmp_path / "shared")})
        settings = {**kept.settings, **KEEPING, "CABLEFERRY_DATABASE__URL": url}
        folders = [tmp_path / "one", tmp_path / "two"]
        for folder in folders:
            folder.mkdir()
        with (
            processes.running(folders[0], settings=settings) as one,
            processes.running(folders[1], settings=settings) as two,
        ):
            _bring_and_collect(bringers, [one.port, two.port])
            collect(two.port)
            read_back(one.port, bringers, set())
        with stores.opened(url) as store:
            known = [row[0] for row in store.read(lambda tx: tx.all(PLACES))]

    assert known == kept.places()


def _bring_and_collect(bringers: list[Bringer], ports: list[int]) -> None:
    with ThreadPoolExecutor(len(bringers) + 2) as pool:
        lives = [pool.submit(_live, bringer, ports[number % 2]) for number, bringer in enumerate(bringers)]
        for port in ports:
            pool.submit(_collect_beside, port, lives)
        for life in lives:
            life.result(120)


def _live(bringer: Bringer, port: int) -> None:
    life: Iterator[None] = bringer.live(port, AGAIN)
    for _ in islice(life, ANSWERS):
        pass


def _collect_beside(port: int, lives: "list[Future[None]]") -> None:
    while not all(life.done() for life in lives):
        collect(port)
