"""Lets a process die at a named instant, so that it can be seen whether anything is lost or done twice.

Around everything that reaches out of a process stands a crossing, with an instant before it and one after it. They do
nothing unless the environment names a folder: then each that is reached is written down there, and the process kills
itself at the one that the folder names.
"""

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "CABLEFERRY_FAILPOINTS"
REACHED, DIES_AT, DIED = "reached", "dies-at", "died"
_WORD = re.compile(r"[a-z]+(-[a-z]+)*")


@contextlib.contextmanager
def crossing(*words: str) -> Iterator[None]:
    """Around one thing that others can see once it is done."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        yield
        return
    name = named(*words)
    _reach(Path(folder), f"before {name}")
    yield
    _reach(Path(folder), f"after {name}")


def named(*words: str) -> str:
    """How a crossing is written down."""
    return " ".join(map(_plain, words))


def _plain(word: str) -> str:
    """A word of its own as it is, and an address without what differs from one call to the next."""
    if not word.startswith("/"):
        return word
    parts = word.partition("?")[0].split("/")
    known = [part if _WORD.fullmatch(part) else "*" for part in parts[1:]]
    end = known.index("files") + 1 if "files" in known else len(known)
    return "/" + "/".join([*known[:end], *("*" for _ in known[end : end + 1])])


def _reach(folder: Path, instant: str) -> None:
    with (folder / REACHED).open("a") as file:
        file.write(f"{instant}\n")
    try:
        last, _, time = (folder / DIES_AT).read_text().rpartition(" ")
    except FileNotFoundError:
        return
    if instant == last and (folder / REACHED).read_text().splitlines().count(instant) >= int(time):
        _die(folder)


def _die(folder: Path) -> None:
    try:
        (folder / DIES_AT).rename(folder / DIED)
    except FileNotFoundError:
        # another thread was first, and we have no time left either
        return
    os.kill(os.getpid(), signal.SIGKILL)
