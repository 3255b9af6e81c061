"""Walks jobs through their lives without running anything: submitted, running, ended, one step at each look."""

from collections.abc import Collection

from cableferry.schedulers.protocol import (
    Accepted,
    Ending,
    Found,
    Order,
    Phase,
    Sighting,
    Snapshot,
    Submission,
    Ticket,
)

_ENDED = Sighting(Phase.ENDED, exit_code=0, ending=Ending.DONE, word="COMPLETED")
_STOPPED = Sighting(Phase.ENDED, ending=Ending.CANCELLED, word="CANCELLED")


class Simulated:
    """Jobs that exist in memory only; one that an earlier process submitted has ended by now."""

    def __init__(self) -> None:
        self._tickets: dict[str, Ticket] = {}
        self._looks: dict[str, int] = {}
        self._stopped: set[str] = set()

    def submit(self, order: Order) -> Submission:
        ticket = self._tickets.setdefault(order.name, Ticket(order.name, f"sim-{order.name}"))
        self._looks.setdefault(order.name, 0)
        return Accepted(ticket)

    def find(self, name: str, since: float) -> Found:
        known = self._tickets.get(name)
        return Found(True, () if known is None else (known,))

    def sight(self, tickets: Collection[Ticket], now: float) -> Snapshot:
        return Snapshot(True, now, {ticket.name: self._sight(ticket) for ticket in tickets})

    def cancel(self, ticket: Ticket, is_urgent: bool) -> bool:
        if self._looks.get(ticket.name, 2) < 2:
            self._stopped.add(ticket.name)
        return True

    def _sight(self, ticket: Ticket) -> Sighting:
        if ticket.name in self._stopped:
            return _STOPPED
        looks = self._looks.get(ticket.name, 1) + 1
        self._looks[ticket.name] = looks
        return Sighting(Phase.RUNNING, word="RUNNING") if looks == 1 else _ENDED
