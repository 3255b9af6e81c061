"""One round of one cell: a story during which somebody dies or is not heard, and what is wrong at its end."""

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from cableferry.client.emx2 import Emx2
from cableferry.testing import processes
from tests.chaos import fronts
from tests.chaos.daemons import Local
from tests.chaos.points import Points
from tests.chaos.story import USUAL, Faults, Story
from tests.cli import ferry as program
from tests.daemon import plain_server

SERVER = ("--auth-off",)


class Done(NamedTuple):
    """What came of a round: whether what was to happen did, what was reached, what is wrong."""

    happened: bool
    reached: frozenset[str]
    faults: Faults
    told: str = ""


class Site:
    """A server that rounds share, and a folder for each round."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.client = self._client(port)
        self._numbers = iter(range(10**6))

    def round(self) -> "tuple[Path, str]":
        """A folder and a worker's name that no other round has."""
        number = next(self._numbers)
        return self.folder / f"round-{number}", f"w{number}"

    def _client(self, port: int) -> Emx2:
        return program.connected(f"http://127.0.0.1:{port}")


@contextlib.contextmanager
def site(folder: Path) -> Iterator[Site]:
    (folder / "server").mkdir()
    with processes.running(folder / "server", *SERVER) as server:
        opened = Site(folder, server.port)
        yield opened
        opened.client.close()


def daemon_dies(site: Site, instant: str | None, *, time: int = 1, kinds: tuple[str, ...] = USUAL) -> Done:
    """At an instant of its own, and then once more somewhere on its way back; without an instant it lives."""
    return _daemon_dies(site, f"http://127.0.0.1:{site.port}", (instant, time), kinds)


def plain_daemon_dies(site: Site, instant: str | None, *, time: int = 1) -> Done:
    """The same at a server without any extension."""
    with plain_server.before(f"http://127.0.0.1:{site.port}") as url:
        return _daemon_dies(site, url, (instant, time), USUAL, is_plain=True)


def _daemon_dies(
    site: Site, url: str, at: tuple[str | None, int], kinds: tuple[str, ...], *, is_plain: bool = False
) -> Done:
    folder, worker = site.round()
    daemon = Local(folder, url, worker)
    points = Points(folder / "points")
    story = Story(daemon, site.client, kinds, is_plain=is_plain)
    instant, time = at
    if instant is not None:
        points.arm(instant, time)
    story.begin()
    deaths = [instant] if instant is not None else []

    def look() -> None:
        if daemon.is_dead():
            if points.has_died() and len(deaths) == 1 and time > 1:
                deaths.append(_another(points))
                points.arm(deaths[-1])
            daemon.start(points.environment)

    daemon.start(points.environment)
    try:
        story.to_its_end(look)
        is_armed = (folder / "points" / "dies-at").exists()
        points.disarm()
        return Done(not is_armed or len(deaths) > 1, frozenset(points.reached()), story.faults(), story.told())
    finally:
        points.disarm()
        daemon.stop()


def _another(points: Points) -> str:
    """Somewhere on the way back from the first death."""
    return random.choice(sorted(points.reached()))


def server_dies(site: Site, instant: str | None, *, time: int = 1, kinds: tuple[str, ...] = USUAL) -> Done:
    """A server of the round's own, at an instant of its own; the daemon lives."""
    folder, worker = site.round()
    points = Points(folder / "points")
    server = processes.Process(folder, *SERVER, settings=points.environment)
    with fronts.standing(server.port) as front, contextlib.closing(program.connected(front.url)) as client:
        daemon = Local(folder / "daemon", front.url, worker)
        story = Story(daemon, client, kinds)
        story.begin()
        if instant is not None:
            points.arm(instant, time)
        running = [server]

        def look() -> None:
            if running[0].is_dead():
                front.behind = None
                running[0].kill()
                running[0] = processes.Process(folder, *SERVER, settings=points.environment)
                front.behind = running[0].port

        daemon.start()
        try:
            story.to_its_end(look)
            is_armed = (folder / "points" / "dies-at").exists()
            points.disarm()
            look()
            return Done(not is_armed, frozenset(points.reached()), story.faults(), story.told())
        finally:
            points.disarm()
            daemon.stop()
            running[0].stop()


class Fault(NamedTuple):
    """What becomes of the n-th request of a name, in a story at a server with extensions or without."""

    name: str
    trouble: str | int
    kinds: tuple[str, ...] = USUAL
    is_plain: bool = False


def call_fails(site: Site, fault: Fault, *, time: int = 1) -> Done:
    """A request that is cut off, whose answer is lost, or that is refused as by a server in trouble."""
    folder, worker = site.round()
    name, trouble = fault.name, fault.trouble
    with fronts.standing(site.port) as front, _plain(front, is_wanted=fault.is_plain) as url:
        daemon = Local(folder, url, worker)
        story = Story(daemon, site.client, fault.kinds, is_plain=fault.is_plain)
        story.begin()
        front.trouble = _nth(name, trouble, time)
        daemon.start()
        try:
            story.to_its_end(lambda: None)
            left = front.trouble("any other")
            return Done(left is None, frozenset(), story.faults(), story.told())
        finally:
            daemon.stop()


def _plain(front: fronts.Front, *, is_wanted: bool) -> contextlib.AbstractContextManager[str]:
    return plain_server.before(front.url) if is_wanted else contextlib.nullcontext(front.url)


def _nth(name: str, trouble: str | int, time: int) -> Callable[[str], str | int | None]:
    """For the n-th request of a name, and as many more as a patient caller would try before it gives up."""
    seen = [0]

    def of(asked: str) -> str | int | None:
        if asked == "any other":
            return None if seen[0] >= time else trouble
        if asked != name:
            return None
        seen[0] += 1
        return trouble if time <= seen[0] < time + 4 else None

    return of


def run_twice(site: Site) -> Done:
    """What no daemon does: a round that must be found bad, or none of the good ones says anything."""
    folder, worker = site.round()
    daemon = Local(folder, f"http://127.0.0.1:{site.port}", worker)
    story = Story(daemon, site.client)
    story.begin()
    daemon.start()
    try:
        story.to_its_end(lambda: None)
        story.run_again("work")
        return Done(True, frozenset(), story.faults(), story.told())
    finally:
        daemon.stop()
