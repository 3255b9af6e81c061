"""What tests of trust share: a clock that they set, and how they seal secrets."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Clock:
    """The time, which passes only when a test says so."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **span: float) -> None:
        self.now += timedelta(**span)


def seal(content: bytes, about: str) -> bytes:
    """No cipher: that a box is not readable is the vault's to show."""
    return f"{about}|".encode() + content
