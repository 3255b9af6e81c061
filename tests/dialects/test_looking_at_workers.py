"""A browser sees who works, how much of each offer is in use, and why nothing runs when nobody is alive."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cableferry.testing import servers
from cableferry.testing.servers import Running
from tests.dialects.desk import Desk


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path)) as running:
        yield running


def test_what_nobody_runs_is_explained_until_a_worker_comes(server: Running) -> None:
    browser = server.client({"X-EMX2-API-Version": None, "X-Request-Id": None, "X-Timestamp": None})
    desk = Desk(server.client(), "head-1", "embed")
    job = desk.create()
    before = browser.get("/api/ui/workers").json
    desk.register(session={"id": "boot-0001", "host": "login1", "pid": 7})
    desk.claim(job)

    after: Any = browser.get("/api/ui/workers").json
    head = after["items"][0]

    assert before["why"] == "nothing can run: no worker has registered yet, and 1 job waits"
    assert (1, 0, None) == (after["alive"], after["pending"], after["why"])
    assert (True, 1, "login1") == (head["is_alive"], head["holds"], head["session"]["host"])
    assert head["offers"] == [{"processor": "embed", "profile": "small", "slots": 100, "used": 1}]
