"""Several clusters of one site behind one scheduler, each asked by itself, so that a silent one silences no other."""

from collections.abc import Collection, Iterable

import msgspec

from cableferry.schedulers.protocol import Accepted, Found, Order, Sighting, Snapshot, Submission, Ticket
from cableferry.schedulers.slurm.scheduler import Place, Slurm


class Clusters:
    """Those that profiles name, None for the one whose commands are here; and whichever a job is still on."""

    def __init__(self, place: Place, names: Collection[str | None]) -> None:
        self._place = place
        self._known = {name: self._made(name) for name in names}

    def submit(self, order: Order) -> Submission:
        name = order.resources.cluster
        submission = self._at(name).submit(order)
        if isinstance(submission, Accepted):
            # under the name by which we ask there, which is what tells two jobs of one id apart
            return Accepted(msgspec.structs.replace(submission.ticket, cluster=name))
        return submission

    def find(self, name: str, since: float) -> Found:
        """Nobody is absent before every cluster has said so."""
        answers = [cluster.find(name, since) for cluster in self._known.values()]
        tickets = tuple(ticket for answer in answers for ticket in answer.tickets)
        return Found(all(answer.is_ok for answer in answers), tickets, _troubles(answer.trouble for answer in answers))

    def sight(self, tickets: Collection[Ticket], now: float) -> Snapshot:
        """Of a cluster that did not answer nothing is said, and the look was good as long as any did."""
        for ticket in tickets:
            self._at(ticket.cluster)
        looks = [
            cluster.sight([ticket for ticket in tickets if ticket.cluster == name], now)
            for name, cluster in self._known.items()
        ]
        jobs: dict[str, Sighting] = {}
        for look in looks:
            jobs |= look.jobs
        strangers = tuple(ticket for look in looks for ticket in look.strangers)
        is_ok = any(look.is_ok for look in looks)
        return Snapshot(is_ok, now, jobs, strangers, _troubles(look.trouble for look in looks))

    def cancel(self, ticket: Ticket, is_urgent: bool) -> bool:
        return self._at(ticket.cluster).cancel(ticket, is_urgent)

    def _at(self, name: str | None) -> Slurm:
        if name not in self._known:
            # another dictionary, because other threads go through this one
            self._known = {**self._known, name: self._made(name)}
        return self._known[name]

    def _made(self, name: str | None) -> Slurm:
        return Slurm(msgspec.structs.replace(self._place, cluster=name))


def _troubles(said: Iterable[str | None]) -> str | None:
    return "; ".join(trouble for trouble in said if trouble is not None) or None
