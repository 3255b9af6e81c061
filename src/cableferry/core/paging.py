"""Where a page of a list begins and how long it is."""

import msgspec

from cableferry.core.errors import Invalid

MOST = 1000
DEFAULT = 100


class Page(msgspec.Struct, frozen=True):
    """Skip `offset` rows, or begin behind a cursor, and take `limit`."""

    limit: int = DEFAULT
    offset: int = 0
    after: str | None = None


def page(limit: int | None, offset: int | None, after: str | None = None) -> Page:
    """A page within bounds; more than the most is the most, less than nothing is refused."""
    wanted = DEFAULT if limit is None else limit
    skipped = 0 if offset is None else offset
    if wanted < 1:
        raise Invalid(f"limit must be at least 1, not {wanted}")
    if skipped < 0 or skipped > 2**53:
        raise Invalid(f"offset must lie between 0 and 2^53, not {skipped}")
    return Page(limit=min(wanted, MOST), offset=skipped, after=after)
