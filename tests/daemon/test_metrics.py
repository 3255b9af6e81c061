"""The daemon's numbers, as Prometheus' own library reads them."""

import http.client
import os
import socket
import stat
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cableferry.daemon import metrics
from cableferry.daemon.config import Config
from cableferry.daemon.exposing import Exposed
from cableferry.daemon.held import Held, Stage
from cableferry.daemon.metrics import Metrics, Now
from cableferry.schedulers.protocol import Accepted, Ending, Phase, Refused, Sighting, Ticket, Unknown
from tests.schedulers.waiting import until

HOSTILE = 'w"\\\n{}'


def _config(folder: Path, **more: object) -> Config:
    said = Config(worker_id=HOSTILE, server="", state_dir=str(folder), jobs_dir=str(folder / "none"), profiles=())
    return msgspec.structs.replace(said, **more)


def _read(text: str) -> dict[tuple[str, frozenset[str]], float]:
    families = list(text_string_to_metric_families(text))
    return {(sample.name, frozenset(sample.labels.values())): sample.value for f in families for sample in f.samples}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _asked(port: int, path: str, host: str = "127.0.0.1") -> tuple[int, str]:
    connection = http.client.HTTPConnection(host, port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_every_number_is_read_as_it_was_meant(tmp_path: Path) -> None:
    counted = Metrics(_config(tmp_path))
    for outcome in (Accepted(Ticket("a", "1")), Refused("no"), Refused("no", may_pass=True), Unknown("?")):
        counted.submitted(outcome)
    end = Sighting(Phase.ENDED, ending=Ending.TIMEOUT)
    counted.ended(Held(id="j", name="n", folder="f", processor="p", end=end))
    counted.ended(Held(id="j", name="n", folder="f", processor="p", end=Sighting(Phase.GONE)))
    for seconds in (0.25, 0.5):
        counted.commanded("squeue", True, seconds)
    counted.count(metrics.BYTES, 2**40 + 1, direction="staged")
    counted.now = Now({Stage.STARTED: 7}, 90, 95, 3, (("server", "unreachable"),))

    found = _read(counted.page(100))

    expected = {
        ("cableferry_daemon_jobs", "started"): 7,
        ("cableferry_daemon_jobs", "ended"): 0,
        ("cableferry_daemon_submissions_total", "accepted"): 1,
        ("cableferry_daemon_submissions_total", "later"): 1,
        ("cableferry_daemon_submissions_total", "refused"): 1,
        ("cableferry_daemon_submissions_total", "unknown"): 1,
        ("cableferry_daemon_endings_total", "timeout"): 1,
        ("cableferry_daemon_endings_total", "lost"): 1,
        ("cableferry_daemon_command_seconds_sum", "squeue", "ok"): 0.75,
        ("cableferry_daemon_command_seconds_count", "squeue", "ok"): 2,
        ("cableferry_daemon_bytes_total", "staged"): 2**40 + 1,
        ("cableferry_daemon_degraded", "server", "unreachable"): 1,
        ("cableferry_daemon_look_age_seconds",): 10,
        ("cableferry_daemon_answer_age_seconds",): 5,
        ("cableferry_daemon_outbox",): 3,
        ("cableferry_daemon_claims_total",): 0,
    }
    assert expected == {(name, *labels): found[name, frozenset(labels)] for name, *labels in expected}
    assert any(HOSTILE in labels for name, labels in found if name == "cableferry_daemon_info")
    # a disk that cannot be asked is not a full one
    assert [labels for name, labels in found if name == "cableferry_daemon_disk_free_bytes"] == [frozenset({"state"})]


def test_a_file_is_whole_and_may_be_read_by_its_collector(tmp_path: Path) -> None:
    file = tmp_path / "collected" / "ferry.prom"
    config = _config(tmp_path, metrics_file=str(file))
    exposed = Exposed(config, Metrics(config))
    exposed.open()
    exposed.write()
    file.parent.mkdir()
    before = os.umask(0o077)
    try:
        exposed.write()
    finally:
        os.umask(before)
        exposed.close()

    assert (["ferry.prom"], 0o644) == (os.listdir(file.parent), stat.S_IMODE(file.stat().st_mode))
    assert ("cableferry_daemon_outbox", frozenset()) in _read(file.read_text())


def test_a_port_answers_this_machine_alone(tmp_path: Path) -> None:
    config = _config(tmp_path, metrics_port=_free_port())
    exposed = Exposed(config, Metrics(config))
    exposed.open()
    try:
        port = config.metrics_port or 0
        until(lambda: _asked(port, "/metrics")[0] == 200)
        answers = [_asked(port, path)[0] for path in ("/metrics", "/", "/metrics/../etc/passwd")]
        with pytest.raises(ConnectionRefusedError):
            _asked(port, "/metrics", "127.0.0.2")
    finally:
        exposed.close()

    assert answers == [200, 404, 404]


def test_a_port_that_is_taken_is_no_trouble_of_the_daemons(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = _config(tmp_path, metrics_port=taken.getsockname()[1])
        exposed = Exposed(config, Metrics(config))
        exposed.open()
        exposed.close()
