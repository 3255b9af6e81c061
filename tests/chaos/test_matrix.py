"""A sample of the crash matrix, and that the published one leaves nothing out that the product does."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.chaos import cells, rounds
from tests.chaos.rounds import Done, Fault, Site
from tests.chaos.story import Faults
from tools.docs import played

pytestmark = [pytest.mark.crash, pytest.mark.xdist_group("chaos")]

SYNC = "call POST /api/hpc/workers/*/sync"
# the narrowest places, and one of each kind
DEATHS = (
    "after effect submit",
    "after journal note",
    "before run note",
    "after run start",
    f"after {SYNC}",
    "after call POST /api/hpc/artifacts",
    "before call POST /api/hpc/artifacts/*/commit",
    "before effect clean",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with rounds.site(tmp_path_factory.mktemp("chaos")) as site:
        yield site


def test_whatever_a_process_reaches_has_its_cells_in_the_published_matrix(site: Site) -> None:
    """Play the matrix again, by `make chaos`, when something new reaches out of a daemon or a server."""
    known = {cell.what for cell in played.read().cells}
    with ThreadPoolExecutor(3) as pool:
        lives = list(pool.map(lambda group: group.play(site, None), cells.DEATHS))

    assert [done.told for done in lives if any(done.faults)] == []
    assert set().union(*(done.reached for done in lives)) - known == set()


def test_a_daemon_that_dies_loses_nothing_and_runs_nothing_twice(site: Site) -> None:
    with ThreadPoolExecutor(3) as pool:
        done = dict(zip(DEATHS, pool.map(partial(rounds.daemon_dies, site), DEATHS), strict=True))

    _is_well(done)


def test_a_server_that_dies_and_answers_that_are_lost_change_nothing(site: Site) -> None:
    tasks = {
        "server, after commit": partial(rounds.server_dies, site, "after commit"),
        "server, before commit": partial(rounds.server_dies, site, "before commit", time=9),
        "answer lost": partial(rounds.call_fails, site, Fault(SYNC, "lost"), time=2),
    }
    with ThreadPoolExecutor(3) as pool:
        done = dict(zip(tasks, pool.map(lambda play: play(), tasks.values()), strict=True))

    _is_well(done)


def _is_well(done: dict[str, Done]) -> None:
    assert [what for what, each in done.items() if not each.happened] == []
    assert {what: each.told for what, each in done.items() if each.faults != Faults()} == {}


def test_a_round_shows_what_went_wrong(site: Site) -> None:
    """A command that somebody runs a second time, with another daemon to blame."""
    assert rounds.run_twice(site).faults == Faults(twice=1)
