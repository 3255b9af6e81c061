"""What this process, and whatever it starts meanwhile, may use no more of."""

import contextlib
import resource
from collections.abc import Iterator


@contextlib.contextmanager
def lowered(limit: int, most: int) -> Iterator[None]:
    """One of the `resource.RLIMIT_` limits, which whoever is limited may raise again up to the hard one."""
    soft, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(limit, (soft, hard))
