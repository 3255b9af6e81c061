"""What time the server thinks it is, learned when it complains and forgotten when it agrees."""

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from cableferry.client.http import Answered, Reply

AGREES = timedelta(seconds=30)
MOST = timedelta(days=1)


class Clock:
    """An offset that is nought until a server refuses our time."""

    def __init__(self) -> None:
        self.offset = timedelta(0)

    def at(self, now: datetime) -> datetime:
        return now + self.offset

    def learn(self, server_time: str | None, reply: Reply) -> bool:
        """Take over the server's time from its complaint; whether that changes anything."""
        told = _moment(server_time) or _date(reply)
        if told is None:
            return False
        measured = told - _midpoint(reply)
        if abs(measured) > MOST:
            return False
        changed = abs(measured - self.offset) > timedelta(seconds=2)
        self.offset = measured
        return changed

    def follow(self, reply: Reply) -> None:
        """While an offset is applied, let it go where the server's dates go, and back to nought."""
        told = _date(reply)
        if not self.offset or told is None or "age" in reply.headers:
            return
        measured = told - _midpoint(reply)
        if abs(measured) <= MOST:
            self.offset = measured if abs(measured) > AGREES else timedelta(0)


def skew_seconds(reply: Reply | Answered) -> float | None:
    """How far the server is ahead of us, as far as a date in whole seconds tells."""
    told = _date(reply)
    return None if told is None else (told - _midpoint(reply)).total_seconds()


def _midpoint(reply: Reply | Answered) -> datetime:
    return reply.sent_at + (reply.received_at - reply.sent_at) / 2


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo else None


def _date(reply: Reply | Answered) -> datetime | None:
    try:
        moment = parsedate_to_datetime(reply.headers["date"])
    except (KeyError, ValueError):
        return None
    # a date header is cut off to whole seconds
    return moment + timedelta(seconds=0.5) if moment.tzinfo else None
