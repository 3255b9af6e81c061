"""How much one caller may ask: a bucket of requests that refills at a steady rate."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from cableferry.core.access import Anyone, Caller
from cableferry.dialects.denials import TooMany

_MOST = 10_000


def payer(caller: Caller, address: str | None) -> str:
    """Whose bucket a request is taken from: the caller's, or the address of a caller who has no name."""
    return f"address {address}" if isinstance(caller, Anyone) else caller.actor


class _Bucket(msgspec.Struct, gc=False):
    tokens: float
    at: float


class Buckets:
    """One bucket for each caller, in memory; whoever was quiet longest is forgotten first."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str) -> float:
        """Take one request: 0, or how many seconds until there is one. A rate of 0 is no limit."""
        if self._rate <= 0:
            return 0.0
        bucket = self._refilled(caller)
        if bucket.tokens < 1.0:
            return (1.0 - bucket.tokens) / self._rate
        bucket.tokens -= 1.0
        return 0.0

    def check(self, caller: str) -> None:
        """Take one request or refuse with the time to wait."""
        if wait := self.take(caller):
            seconds = math.ceil(wait)
            raise TooMany(f"more than {self._rate:g} requests per second: wait {seconds} s", seconds)

    def _refilled(self, caller: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = _Bucket(self._burst, now)
            if len(self._buckets) > _MOST:
                self._buckets.popitem(last=False)
        else:
            bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._rate)
            bucket.at = now
            self._buckets.move_to_end(caller)
        return bucket
