"""Who waits for news, and whom a piece of news wakes."""

import asyncio
import heapq
import itertools
from collections.abc import Iterable, Iterator

from cableferry.store.tx import News

READY = "ready"
ANY = "*"
ANY_JOB = "job:*"
# longer than a claim takes on a busy server, or every job wakes the whole crowd
STEP_SECONDS = 0.1
# whoever follows everything is told of many changes at once
RING_SECONDS = 0.3

Key = str


class Waiter:
    """One parked request: the topics that may change its answer, woken at most once per look."""

    __slots__ = ("_loop", "_woken", "is_gone", "keys", "order")

    def __init__(self, loop: asyncio.AbstractEventLoop, order: int, keys: tuple[Key, ...]) -> None:
        self._loop = loop
        self._woken: asyncio.Future[None] = loop.create_future()
        self.order = order
        self.keys = keys
        self.is_gone = False

    @property
    def is_parked(self) -> bool:
        return not self._woken.done()

    def wake(self) -> None:
        if not self._woken.done():
            self._woken.set_result(None)

    def leave(self) -> None:
        """The client went away."""
        self.is_gone = True
        self.wake()

    async def until(self, deadline: float) -> bool:
        """Wait for news; False when the time is up."""
        timer = self._loop.call_at(deadline, self.wake)
        try:
            await self._woken
        finally:
            timer.cancel()
        return self._loop.time() < deadline

    def park_again(self) -> None:
        self._woken = self._loop.create_future()


class Live:
    """All waiters of one process, by what they wait for; used on the event loop alone, save `hear`."""

    def __init__(self) -> None:
        self._parked: dict[Key, dict[Waiter, None]] = {}
        self._cascades: dict[str, asyncio.TimerHandle] = {}
        self._bells: dict[Key, asyncio.TimerHandle] = {}
        self._orders = itertools.count()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_closing = False
        self.count = 0

    def register(self, keys: tuple[Key, ...]) -> Waiter:
        """A waiter that misses nothing from now on; forget it when it is answered."""
        self._loop = asyncio.get_running_loop()
        waiter = Waiter(self._loop, next(self._orders), keys)
        for key in keys:
            self._parked.setdefault(key, {})[waiter] = None
        self.count += 1
        if self.is_closing:
            waiter.wake()
        return waiter

    def forget(self, waiter: Waiter) -> None:
        self.count -= 1
        for key in waiter.keys:
            line = self._parked[key]
            del line[waiter]
            if not line:
                del self._parked[key]

    def hear(self, news: Iterable[News]) -> None:
        """Called after each commit, from any thread."""
        loop = self._loop
        if self.count and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self.tell, list(news))

    def tell(self, news: Iterable[News]) -> None:
        """Wake whom these news concern."""
        for item in news:
            match item.topic:
                case "ready":
                    self._offer(item)
                    self._ring(ANY_JOB)
                case "taken":
                    self._end_cascade(item.subject)
                case "*":
                    self.wake_all()
                case topic:
                    self.wake(f"{topic}:{item.subject}")
                    self._ring(f"{topic}:{ANY}")

    def wake(self, key: Key) -> None:
        for waiter in list(self._parked.get(key, ())):
            waiter.wake()

    def wake_all(self) -> None:
        for waiter in {waiter for line in self._parked.values() for waiter in line}:
            waiter.wake()

    def close(self) -> None:
        """Answer everybody now and let nobody park again."""
        self.is_closing = True
        self.wake_all()

    def waited_for(self) -> list[Key]:
        return list(self._parked)

    def _ring(self, key: Key) -> None:
        """Wake those who follow all of a kind, a few times a second at the most however much happens."""
        if self._loop is not None and key in self._parked and key not in self._bells:
            self._bells[key] = self._loop.call_later(RING_SECONDS, self._rung, key)

    def _rung(self, key: Key) -> None:
        del self._bells[key]
        self.wake(key)

    def _offer(self, item: News) -> None:
        """One new job wakes one waiter; the others only, more and more of them, while nobody takes it."""
        keys = ready_keys(item.subject)
        if self._wake_first(keys, 1):
            self._end_cascade(item.detail)
            self._widen(item.detail, keys, 2)

    def _widen(self, job: str, keys: tuple[Key, ...], width: int) -> None:
        if self._loop is not None:
            self._cascades[job] = self._loop.call_later(STEP_SECONDS, self._step, job, keys, width)

    def _step(self, job: str, keys: tuple[Key, ...], width: int) -> None:
        del self._cascades[job]
        if self._wake_first(keys, width) == width:
            self._widen(job, keys, width * 2)

    def _end_cascade(self, job: str) -> None:
        timer = self._cascades.pop(job, None)
        if timer is not None:
            timer.cancel()

    def _wake_first(self, keys: tuple[Key, ...], most: int) -> int:
        """Wake those that have waited longest; return how many there were."""
        lines = [self._parked[key] for key in keys if key in self._parked]
        woken = 0
        for waiter in itertools.islice(_still_parked(lines), most):
            waiter.wake()
            woken += 1
        return woken


def _still_parked(lines: list[dict[Waiter, None]]) -> Iterator[Waiter]:
    """The sleeping waiters of several lines, the oldest first; each line is in that order already."""
    return (waiter for waiter in heapq.merge(*lines, key=_order) if waiter.is_parked)


def _order(waiter: Waiter) -> int:
    return waiter.order


def ready_keys(subject: str) -> tuple[Key, ...]:
    """Every filter that a ready job of `pool/processor/profile` passes, wherever its names hold slashes."""
    pool, _, rest = subject.partition("/")
    places = [place for place, letter in enumerate(rest) if letter == "/"]
    keys = [key for place in places for key in _filters(pool, rest[:place], rest[place + 1 :])]
    return tuple(dict.fromkeys(keys))


def _filters(pool: str, processor: str, profile: str) -> Iterator[Key]:
    for wanted_processor in (processor, ANY):
        for wanted_profile in (profile, ANY):
            yield ready_key(pool, wanted_processor, wanted_profile)


def ready_key(pool: str, processor: str, profile: str) -> Key:
    return f"{READY}:{pool}/{processor}/{profile}"
