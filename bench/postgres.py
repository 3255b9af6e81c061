"""A Postgres database of its own for a benchmark, with every commit on disk."""

import contextlib
import sys
from collections.abc import Iterator

from cableferry.testing import postgres


@contextlib.contextmanager
def database() -> Iterator[str | None]:
    """The url of an empty database in a private cluster; None where Postgres is not installed."""
    if postgres.programs() is None:
        print("PostgreSQL is not on this machine: its rows are left out", file=sys.stderr)
        yield None
        return
    with postgres.cluster(durable=True) as cluster:
        yield cluster.create("bench")
