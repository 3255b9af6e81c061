"""Whom a piece of news wakes, and whom it lets sleep."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from cableferry.server.live import ANY_JOB, STEP_SECONDS, Live, Waiter, ready_keys
from cableferry.store.tx import News

SOON = 5.0


def _run(story: Callable[[Live], Awaitable[None]]) -> None:
    async def told() -> None:
        await story(Live())

    asyncio.run(told())


def _ready(job: str = "j1", lane: str = "pool/embed/small") -> News:
    return News("ready", lane, job)


def _park(live: Live, count: int, lane: str = "pool/embed/small") -> list[Waiter]:
    return [live.register((f"ready:{lane}",)) for _ in range(count)]


def _woken(waiters: list[Waiter]) -> list[int]:
    return [place for place, waiter in enumerate(waiters) if not waiter.is_parked]


async def _until(waiter: Waiter) -> bool:
    return await waiter.until(asyncio.get_running_loop().time() + SOON)


def test_one_new_job_wakes_the_one_that_has_waited_longest() -> None:
    async def story(live: Live) -> None:
        waiters = _park(live, 10)

        live.tell([_ready()])

        assert _woken(waiters) == [0]

    _run(story)


def test_each_new_job_wakes_another() -> None:
    async def story(live: Live) -> None:
        waiters = _park(live, 10)

        live.tell([_ready("j1"), _ready("j2")])

        assert _woken(waiters) == [0, 1]

    _run(story)


def test_a_job_that_nobody_takes_wakes_everybody_in_the_end() -> None:
    async def story(live: Live) -> None:
        waiters = _park(live, 100)

        live.tell([_ready()])

        assert await _until(waiters[-1])
        assert _woken(waiters) == list(range(100))

    _run(story)


def test_a_job_that_was_taken_wakes_nobody_more() -> None:
    async def story(live: Live) -> None:
        waiters = _park(live, 100)

        live.tell([_ready(), News("taken", "j1")])
        is_in_time = await waiters[-1].until(asyncio.get_running_loop().time() + 8 * STEP_SECONDS)

        assert (is_in_time, _woken(waiters)) == (False, [0, 99])

    _run(story)


def test_news_of_one_job_wake_all_who_follow_it() -> None:
    async def story(live: Live) -> None:
        followers = [live.register(("job:j1",)) for _ in range(3)]
        stranger = live.register(("job:j2",))

        live.tell([News("job", "j1")])

        assert _woken([*followers, stranger]) == [0, 1, 2]

    _run(story)


@pytest.mark.parametrize("lane", ["pool/embed/small", "pool/*/*", "pool/embed/*", "pool/*/small"])
def test_a_ready_job_wakes_every_filter_that_it_passes(lane: str) -> None:
    async def story(live: Live) -> None:
        waiters = _park(live, 1, lane)

        live.tell([_ready()])

        assert _woken(waiters) == [0]

    _run(story)


@pytest.mark.parametrize("lane", ["pool/embed/large", "other/embed/small", "pool/train/*", "pool/*/large"])
def test_a_ready_job_lets_other_filters_sleep(lane: str) -> None:
    async def story(live: Live) -> None:
        waiters = _park(live, 1, lane)

        live.tell([_ready()])

        assert _woken(waiters) == []

    _run(story)


def test_names_may_hold_slashes() -> None:
    keys = ready_keys("pool/site/embed:v3/small")

    assert {"ready:pool/site/embed:v3/small", "ready:pool/site/embed:v3/*", "ready:pool/site/*"} <= set(keys)


def test_news_from_another_thread_arrive() -> None:
    async def story(live: Live) -> None:
        waiter = live.register(("job:j1",))

        await asyncio.to_thread(live.hear, [News("job", "j1")])

        assert await _until(waiter)

    _run(story)


def test_news_between_two_looks_are_not_missed() -> None:
    async def story(live: Live) -> None:
        waiter = live.register(("job:j1",))
        live.tell([News("job", "j1")])

        assert await _until(waiter)

    _run(story)


def test_the_time_is_up_without_news() -> None:
    async def story(live: Live) -> None:
        waiter = live.register(("job:j1",))

        assert not await waiter.until(asyncio.get_running_loop().time())

    _run(story)


def test_closing_wakes_everybody_and_lets_nobody_park() -> None:
    async def story(live: Live) -> None:
        waiters = _park(live, 3)

        live.close()

        assert _woken([*waiters, live.register(("job:j1",))]) == [0, 1, 2, 3]

    _run(story)


def test_whoever_left_is_forgotten() -> None:
    async def story(live: Live) -> None:
        first, second = _park(live, 2)
        live.forget(first)

        live.tell([_ready()])

        assert (live.count, _woken([second])) == (1, [0])
        live.forget(second)
        assert (live.count, live.waited_for()) == (0, [])

    _run(story)


def test_whoever_follows_all_jobs_is_woken_once_for_many_changes() -> None:
    async def story(live: Live) -> None:
        waiters = [live.register((ANY_JOB,)) for _ in range(3)]

        live.tell([News("job", f"j{number}", "running") for number in range(50)])
        live.tell([_ready()])

        assert _woken(waiters) == []
        assert all([await _until(waiter) for waiter in waiters])
        waiters[0].park_again()
        assert _woken(waiters) == [1, 2]
        live.tell([_ready()])
        assert await _until(waiters[0])

    _run(story)


def test_news_that_nobody_follows_ring_no_bell() -> None:
    async def story(live: Live) -> None:
        waiters = _park(live, 1)

        live.tell([News("job", "j1", "running")])

        assert _woken(waiters) == []
        assert live._bells == {}

    _run(story)
