"""Every cell of the crash matrix: who dies where, and which requests go wrong how, as the product itself names them."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from tests.chaos import rounds
from tests.chaos.rounds import Done, Fault, Site
from tests.chaos.story import USUAL

LARGE = ("large",)
TROUBLES: dict[str, str | int] = {"cut off": "cut", "answer lost": "lost", "refused by 503": 503, "refused by 500": 500}


class Cell(NamedTuple):
    """One thing that goes wrong; `rounds` of it are run with `play`, which is told at which time it happens."""

    group: str
    what: str
    play: Callable[[Site, int], Done]


class Group(NamedTuple):
    """Whose deaths are told apart by the instants that its process reaches while nobody dies."""

    name: str
    play: Callable[..., Done]


DEATHS = (
    Group("daemon", rounds.daemon_dies),
    Group("daemon, file of 34 MB", partial(rounds.daemon_dies, kinds=LARGE)),
    Group("daemon, plain server", rounds.plain_daemon_dies),
    Group("server", rounds.server_dies),
    Group("server, file of 34 MB", partial(rounds.server_dies, kinds=LARGE)),
)


def found(site: Site) -> list[Cell]:
    """All that there are, each once: what one group has, a later one with a like name need not repeat."""
    cells: dict[tuple[str, str], Cell] = {}
    for group in DEATHS:
        # twice, since some of it happens only at times
        reached = group.play(site, None).reached | group.play(site, None).reached
        for instant in sorted(reached):
            first = (group.name.partition(",")[0], instant)
            is_known = first in cells and "plain" not in group.name
            if not is_known:
                cells[(group.name, instant)] = Cell(group.name, instant, _dying(group, instant))
    return [*cells.values(), *_calls(cells.values())]


def _calls(deaths: Iterable[Cell]) -> Iterator[Cell]:
    """What the daemon asks of either kind of server, in the story in which it asks it."""
    for cell in deaths:
        if cell.group.startswith("daemon") and cell.what.startswith("before call "):
            name = cell.what.removeprefix("before ")
            kinds = LARGE if "file" in cell.group else USUAL
            for said, trouble in TROUBLES.items():
                fault = Fault(name, trouble, kinds, "plain" in cell.group)
                yield Cell(cell.group.replace("daemon", "request"), f"{name} {said}", partial(_failing, fault))


def _dying(group: Group, instant: str) -> Callable[[Site, int], Done]:
    return lambda site, time: group.play(site, instant, time=time)


def _failing(fault: Fault, site: Site, time: int) -> Done:
    return rounds.call_fails(site, fault, time=time)
