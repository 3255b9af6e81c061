"""Without a list of hosts, every worker that was heard of may run jobs, and nobody else is known."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dialects.opeva import port as ports
from tests.dialects.opeva.port import Port


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Port]:
    with ports.running(ports.settings_in(tmp_path, available_hosts=[])) as port:
        yield port


def test_who_was_heard_of_is_a_host(port: Port) -> None:
    assert [] == port.get("/hosts").json["available_hosts"]
    unknown = port.post("/run-simulation", {"config": {"a": 1}, "target_host": "anna"})
    assert (400, "Unknown host 'anna'. Allowed: []") == (unknown.status, unknown.json["detail"])

    port.post("/api/agent/heartbeat", {"worker_id": "anna"})
    assert None is port.poll("berta")

    assert ["anna", "berta"] == port.get("/hosts").json["available_hosts"]
    pinned, free = port.launch("anna"), port.launch()
    assert [free, pinned] == [(port.poll(host) or {})["job_id"] for host in ("berta", "anna")]
