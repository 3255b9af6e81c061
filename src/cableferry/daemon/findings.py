"""What is said of one thing that was looked at."""

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at: what was found, and what to do if that is not good."""

    what: str
    is_ok: bool
    found: str
    advice: str = ""


def judged(what: str, is_ok: bool, found: str, advice: str) -> Finding:
    """Advice is for what is not good."""
    return Finding(what, is_ok, found, "" if is_ok else advice)
