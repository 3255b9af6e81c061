"""What sacct remembers of jobs, as far as a site keeps accounts at all."""

import time
from collections.abc import Callable, Collection, Sequence

import msgspec

from cableferry.schedulers.slurm import rows
from cableferry.schedulers.slurm.commands import Ran
from cableferry.schedulers.slurm.rows import Row

ASK_AGAIN_SECONDS = 600.0
MOST = 1000
# who did not answer in its time is left alone for so many times as long: most of what it knows is found elsewhere
_REST = 6
_DISABLED = "accounting storage is disabled"


class Accounts(msgspec.Struct, frozen=True):
    """What accounting answered; a site without it answers that there is nothing."""

    is_ok: bool
    rows: tuple[Row, ...] = ()
    trouble: str | None = None


class Accounting:
    """Asks sacct, and remembers for a while that a site has none."""

    def __init__(self, site: tuple[str, ...], run: Callable[[Sequence[str]], Ran]) -> None:
        self._site = site
        self._run = run
        self._absent_until = 0.0
        self._silent = Accounts(False)
        self._silent_until = 0.0

    def is_kept(self, now: float) -> bool:
        return now >= self._absent_until

    def of_jobs(self, ids: Collection[str], now: float) -> Accounts:
        """The first thousand; whoever is behind them is asked for at a later look."""
        if not ids:
            return Accounts(True)
        if now < self._silent_until:
            return self._silent
        return self._ask(("--jobs", ",".join(sorted(ids, key=int)[:MOST])), now)

    def of_name(self, name: str, since: float, now: float) -> Accounts:
        return self._ask(("--name", name, "--starttime", f"now-{max(60, int(now - since) + 300)}seconds"), now)

    def _ask(self, which: tuple[str, ...], now: float) -> Accounts:
        if not self.is_kept(now):
            return Accounts(True)
        command = ("sacct", *self._site, "--noheader", "--parsable2", f"--format={rows.SACCT}", *which)
        began = time.monotonic()
        ran = self._run(command)
        if ran.is_ok:
            return Accounts(True, tuple(rows.sacct(ran.out)))
        if _DISABLED in ran.err.lower():
            self._absent_until = now + ASK_AGAIN_SECONDS
            return Accounts(True)
        self._silent = Accounts(False, (), ran.trouble)
        if ran.code is None:
            self._silent_until = now + _REST * (time.monotonic() - began)
        return self._silent
