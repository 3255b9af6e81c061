"""Every benchmark ends with one JSON object that a program can read."""

import json
import shutil
from collections.abc import Callable

import pytest

from bench import (
    api,
    cluster,
    dashboard,
    dispatch,
    download,
    opeva,
    report,
    s3,
    scale,
    staging,
    startup,
    sync,
    tracking,
    upload,
)
from cableferry.server import site
from tests.clusters import Cluster


@pytest.mark.parametrize(
    "benchmark",
    [
        pytest.param(lambda: api.main(jobs=8, postgres_jobs=0), id="api"),
        pytest.param(lambda: sync.main(cycles=1, postgres_processes=()), id="sync"),
        pytest.param(lambda: scale.main(few=24, many=48, rounds=1, each=8), id="scale"),
        pytest.param(lambda: dispatch.main(waiters=2, jobs=3, idle_seconds=0), id="dispatch"),
        pytest.param(lambda: startup.main(runs=1, starts=1), id="startup"),
        pytest.param(lambda: upload.main(total=3 * 2**20, rounds=1, files=20), id="upload"),
        pytest.param(lambda: staging.main(large=40 * 2**20, huge=2**20, files=20), id="staging"),
        pytest.param(lambda: opeva.main(sizes=(8, 16), rounds=1, each=8), id="opeva"),
        pytest.param(lambda: download.main(total=3 * 2**20, rounds=1), id="download"),
        pytest.param(lambda: s3.main(total=3 * 2**20, rounds=1, sizes=(2**16, 2**20)), id="s3"),
    ],
)
def test_the_last_line_tells_the_value_and_its_floor(
    benchmark: Callable[[], None], capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    benchmark()

    _check(capsys.readouterr().out, request.node.callspec.id)


@pytest.mark.xdist_group("browser")
def test_the_benchmark_of_the_dashboard_does_so_too(capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("chromium") is None or not (site.BUILT / "index.html").exists():
        pytest.skip("no dashboard or no browser here: tools/web.sh and tools/browser.sh say how to get them")

    dashboard.main(loads=1, updates=2, events=5, mib=24)

    _check(capsys.readouterr().out, "dashboard")


@pytest.mark.slurm
def test_the_benchmark_of_a_real_cluster_does_so_too(
    slurm_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.measure(slurm_cluster, jobs=3)

    _check(capsys.readouterr().out, "cluster")


@pytest.mark.slurm
def test_a_daemon_needs_no_more_commands_of_slurm_for_five_hundred_jobs_than_for_ten(
    slurm_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    tracking.measure(slurm_cluster, sizes=(10, 500), seconds=4, calm=1)

    told = _check(capsys.readouterr().out, "tracking")
    assert (told["commands"], told["commands_of_few"]) == (1, 1)


def _check(said: str, name: str) -> dict[str, float]:
    told: dict[str, float] = json.loads(said.splitlines()[-1])
    assert name == told["name"]
    assert told["value"] > 0
    assert told["floor"] > 0
    assert told["value"] / told["floor"] == pytest.approx(told["ratio"], rel=0.01)
    assert told["unit"]
    return told


def test_a_table_lines_figures_up_on_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    report.table("Speed", ("", "a second"), [("slow", "7"), ("quick", "12 345")])

    assert [
        "",
        "Speed",
        "",
        "       a second",
        "-----  --------",
        "slow          7",
        "quick    12 345",
    ] == capsys.readouterr().out.splitlines()
