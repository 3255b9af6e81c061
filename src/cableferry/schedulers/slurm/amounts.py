"""Reads the sizes and times that sbatch takes as numbers."""

import re

# without a letter it is megabytes
_SIZE = re.compile(r"(\d{1,12})([KMGT]?)B?", re.ASCII | re.IGNORECASE)
_UNITS = {"K": 2**10, "": 2**20, "M": 2**20, "G": 2**30, "T": 2**40}
# minutes, minutes:seconds, hours:minutes:seconds; and days-hours, days-hours:minutes, days-hours:minutes:seconds
_TIME = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)


def bytes_of(text: str) -> int | None:
    found = _SIZE.fullmatch(text.strip())
    return None if found is None else int(found[1]) * _UNITS[found[2].upper()]


def seconds_of(text: str) -> int | None:
    """How long that is; None for what sbatch takes as no limit, or not at all."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    days, parts = found[1], [int(part) for part in found.groups()[1:] if part is not None]
    if days is None and len(parts) < 3:
        parts = [0, *parts]
    hours, minutes, seconds = (*parts, 0, 0)[:3]
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds
