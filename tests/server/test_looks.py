"""What a waiting read may not do: miss news, look when it need not, or share a look that is too old."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.core.access import Anyone, Need
from cableferry.dialects.endpoint import Call, Endpoint, Waits
from cableferry.server.exchange import Message, Reply, Request
from cableferry.server.live import Live
from cableferry.server.polls import Poll, Polls
from cableferry.store import connect
from cableferry.store.tx import News, Store, Tx
from cableferry.testing import stores


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = stores.sqlite_url(tmp_path)
    connect.upgrade_database(url)
    with stores.opened(url) as opened:
        yield opened


class Counted:
    """An answer that counts the looks at it; the first look is followed by news at once."""

    def __init__(self, live: Live, enough: int) -> None:
        self.looks = 0
        self._live = live
        self._enough = enough

    def look(self, tx: Tx, call: Call) -> list[int]:
        number = self.looks + 1
        if number == 1:
            self._live.hear([News("job", "j1")])
        self.looks = number
        return [number]

    def is_worth_telling(self, call: Call, body: list[int]) -> bool:
        return body[0] >= self._enough


async def _never() -> Message:
    await asyncio.get_running_loop().create_future()
    return {}


def _poll(counted: Counted, seconds: int) -> Poll:
    waits = Waits(lambda call: ("job:j1",), counted.is_worth_telling)
    endpoint = Endpoint("GET", "/x", counted.look, Need.READ, "", answer=list[int], waits=waits)
    request = Request("GET", "/x", b"", {}, None, time.perf_counter(), "trace")
    return Poll(endpoint, request, Call(Anyone()), seconds)


def test_news_that_come_right_after_the_first_look_are_not_missed(store: Store) -> None:
    async def story() -> Reply:
        live = Live()
        return await Polls(store, live, 55).wait(_poll(Counted(live, enough=2), 20), _never)

    started = time.monotonic()
    reply = asyncio.run(story())

    assert reply.body == b"[2]"
    assert time.monotonic() - started < 10


def test_polls_that_are_alike_share_one_look(store: Store) -> None:
    async def story() -> int:
        live = Live()
        polls, counted = Polls(store, live, 55), Counted(live, enough=1)
        await asyncio.gather(*(polls.wait(_poll(counted, 20), _never) for _ in range(50)))
        return counted.looks

    assert asyncio.run(story()) == 1


def test_nobody_joins_a_look_that_has_begun(store: Store) -> None:
    """The look of the first ends before the second asks, or they see the same too old answer."""

    async def story() -> list[bytes]:
        live = Live()
        polls, counted = Polls(store, live, 55), Counted(live, enough=1)
        first = asyncio.ensure_future(polls.wait(_poll(counted, 20), _never))
        while counted.looks == 0:  # noqa: ASYNC110  # a look happens in a thread
            await asyncio.sleep(0)
        second = await polls.wait(_poll(counted, 20), _never)
        return [(await first).body, second.body]

    assert asyncio.run(story()) == [b"[1]", b"[2]"]
