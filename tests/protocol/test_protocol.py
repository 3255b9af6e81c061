"""Random interleavings of all use cases agree with the model, on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from cableferry.store import connect
from cableferry.testing import stores
from cableferry.testing.postgres import Cluster
from tests.protocol.files import Files
from tests.protocol.machine import Ground, Protocol

RUNS = {"sqlite": 100, "postgres": 60}
FILE_RUNS = {"sqlite": 60, "postgres": 30}
STEPS = 50


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    if request.param == "sqlite":
        yield from _grounded(stores.sqlite_url(tmp_path))
    else:
        cluster: Cluster = request.getfixturevalue("postgres_cluster")
        with stores.database(cluster) as url:
            yield from _grounded(url)


def _grounded(url: str) -> Iterator[Ground]:
    connect.upgrade_database(url)
    ground = Ground(url)
    yield ground
    ground.store.close()


def test_any_order_of_calls_ends_where_the_law_says(ground: Ground) -> None:
    _run(Protocol, ground, RUNS[connect.kind_of(ground.url)])


def test_any_order_of_calls_about_files_keeps_their_bytes_and_no_others(ground: Ground) -> None:
    _run(Files, ground, FILE_RUNS[connect.kind_of(ground.url)])


def _run(law: type[RuleBasedStateMachine], ground: Ground, runs: int) -> None:
    machine = type("Run", (law,), {"ground": ground})

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
