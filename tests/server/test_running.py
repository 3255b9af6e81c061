"""On which thread a write runs."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from cableferry.core.access import Need
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.server.running import LONG_AT_ONCE, MOST_BRIEF_BYTES
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


def test_works_of_minutes_keep_nobody_else_waiting(tmp_path: Path) -> None:
    begun, may_end = threading.Semaphore(0), threading.Event()

    def wait(call: Call) -> str:
        begun.release()
        return str(may_end.wait(20))

    def told(tx: Tx, call: Call) -> str:
        return str(call.prepared)

    long = Endpoint("GET", "/api/hpc/long", told, Need.READ, "Wait", str, prepare=wait, is_long=True)
    short = Endpoint("GET", "/api/hpc/short", told, Need.READ, "Hash", str, prepare=lambda call: "done")
    never = Endpoint(
        "GET", "/api/hpc/never", told, Need.READ, "Say", str, prepare=wait, prepares=lambda call: False, is_long=True
    )
    with servers.running(servers.settings_in(tmp_path), extra=[long, short, never]) as running:
        with ThreadPoolExecutor(30) as pool:
            waiting = [pool.submit(running.client().get, "/api/hpc/long") for _ in range(30)]
            assert all(begun.acquire(timeout=20) for _ in range(LONG_AT_ONCE))
            answers = [running.client().get(path).body for path in ("/api/hpc/short", "/api/hpc/never")]
            may_end.set()

        assert [b'"done"', b'"None"'] == answers
        assert {b'"True"'} == {reply.result().body for reply in waiting}
