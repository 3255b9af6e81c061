"""On which thread a write runs."""

import threading
from pathlib import Path

import msgspec
import pytest

from cableferry.core.access import Need
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.server.running import MOST_BRIEF_BYTES
from cableferry.store.tx import Tx
from cableferry.testing import servers


class Said(msgspec.Struct, frozen=True):
    text: str


def _thread(tx: Tx, call: Call) -> str:
    return threading.current_thread().name


BRIEF = Endpoint(
    "POST", "/api/hpc/thread", _thread, Need.READ, "Name the thread", str, mode="write", is_brief=True, body=Said
)


@pytest.mark.parametrize(("length", "is_ever"), [(1, True), (MOST_BRIEF_BYTES, False)], ids=["small", "big"])
def test_a_big_body_keeps_no_brief_write_on_the_event_loop(tmp_path: Path, length: int, is_ever: bool) -> None:
    with servers.running(servers.settings_in(tmp_path), extra=[BRIEF]) as running:
        client = running.client()
        # a sweep may have the turn, and then a small one goes the long way too
        threads = {client.post("/api/hpc/thread", {"text": "x" * length}).body for _ in range(50)}

    assert (threads != {b'"store-writer"'}) is is_ever


READING = Endpoint("GET", "/api/hpc/thread", _thread, Need.READ, "Name the thread", str, is_brief=True)


def test_a_brief_read_runs_on_the_event_loop(tmp_path: Path) -> None:
    with servers.running(servers.settings_in(tmp_path), extra=[READING]) as running:
        threads = {running.client().get("/api/hpc/thread").body for _ in range(20)}

    assert b'"store-reader"' not in threads
