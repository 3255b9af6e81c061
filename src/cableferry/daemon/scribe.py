"""Sends what running jobs write while they write it, some jobs at a time and each in its turn."""

from collections.abc import Callable, Sequence

import msgspec

from cableferry.client.errors import Trouble
from cableferry.daemon import errands
from cableferry.daemon.crew import Crew
from cableferry.daemon.decide import Decision
from cableferry.daemon.errands import Errands
from cableferry.daemon.held import Held, Stage
from cableferry.daemon.holding import Holding
from cableferry.daemon.tailing import sending
from cableferry.daemon.tailing.sending import Source

_MOST_JOBS = 32


class Sent(msgspec.Struct, frozen=True):
    """Logs as they stand after one batch, and the jobs that have more to say."""

    sources: tuple[Source, ...] = ()
    unfinished: frozenset[str] = frozenset()


class Scribe:
    """One batch after the other; whoever is told of one says so by `done`."""

    def __init__(self, errands: Errands, holding: Holding, tell: Callable[[Sent], None]) -> None:
        self._errands = errands
        self._holding = holding
        self._crew: Crew[Sent] = Crew(1, lambda name, sent: tell(sent))
        self._sent_at: dict[str, float] = {}
        self.watched: frozenset[str] = frozenset()

    def begin(self, now: float) -> None:
        """Send what is due, sooner of the jobs that somebody watches."""
        if self._crew.busy or not self._errands.has_logs:
            return
        due = [held for held in self._holding if held.stage is Stage.STARTED and self._is_due(held, now)]
        due.sort(key=lambda held: self._sent_at.get(held.id, 0))
        sources = [source for held in due[:_MOST_JOBS] for source in errands.sources_of(held)]
        for held in due[:_MOST_JOBS]:
            self._sent_at[held.id] = now
        if sources:
            self._crew.take("logs", lambda: _sent(self._errands, sources), lambda why: Sent())

    def done(self, sent: Sent) -> None:
        """Note how far each log is; one that has more to say is due at once."""
        self._crew.done("logs")
        for id_ in {source.job_id for source in sent.sources}:
            held = self._holding.get(id_)
            if held is not None and held.stage is Stage.STARTED:
                self._holding.note(Decision(errands.with_sources(held, sent.sources)))
            if id_ in sent.unfinished:
                self._sent_at.pop(id_, None)

    def dismiss(self) -> None:
        self._crew.dismiss()

    def forget(self, id: str) -> None:
        self._sent_at.pop(id, None)

    def _is_due(self, held: Held, now: float) -> bool:
        """Whoever waits for the first line has nothing to watch yet, and an empty log costs the server nothing."""
        is_silent = not any(tail.sent for tail in held.tails)
        return now - self._sent_at.get(held.id, 0) >= sending.pause_seconds(is_silent or held.id in self.watched)


def _sent(errands: Errands, sources: Sequence[Source]) -> Sent:
    """Without an answer nothing has changed, and the same is sent again."""
    try:
        after = errands.send(sources)
    except Trouble:
        return Sent()
    more = {new.job_id for old, new in zip(sources, after, strict=True) if sending.has_more(old, new)}
    return Sent(tuple(after), frozenset(more))
