"""What belongs to the rows of one question: gathered while they are read, and looked up once for all of them."""

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar, cast

from strawberry.dataloader import DataLoader

from cableferry.core.artifacts import Artifact, File
from cableferry.core.errors import Invalid, Kind
from cableferry.core.jobs import Job, Transition
from cableferry.core.workers import Worker
from cableferry.engine import browsing
from cableferry.store.relations import User
from cableferry.store.tx import Tx

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Limits(NamedTuple):
    """How long an answer may take, how many rows it may hold, and how much stored JSON."""

    seconds: float = 10.0
    rows: int = 50_000
    size_bytes: int = 64 * 1024 * 1024


USUAL = Limits()


class Lookups:
    """One question in one transaction: how much it may still take, and what it asked to look up."""

    def __init__(self, tx: Tx, pool: str, limits: Limits = USUAL) -> None:
        self.tx = tx
        self.pool = pool
        self._limits = limits
        self._until = time.monotonic() + limits.seconds
        self._rows = limits.rows
        self._bytes = limits.size_bytes
        self._related: dict[Hashable, object] = {}

    def artifact(self) -> DataLoader[str, Artifact | None]:
        return self._one("artifact", lambda ids: browsing.artifacts(self.tx, ids))

    def artifact_by_key(self) -> DataLoader[int, Artifact | None]:
        return self._one("artifact by key", lambda keys: browsing.artifacts_by_key(self.tx, keys))

    def job(self) -> DataLoader[str, Job | None]:
        return self._one("job", lambda ids: browsing.jobs(self.tx, self.pool, ids))

    def job_by_key(self) -> DataLoader[int, Job | None]:
        return self._one("job by key", lambda keys: browsing.jobs_by_key(self.tx, keys))

    def worker(self) -> DataLoader[str, Worker | None]:
        return self._one("worker", lambda ids: browsing.workers(self.tx, self.pool, ids))

    def transitions(self, after: int, most: int) -> DataLoader[int, list[Transition]]:
        look = partial(browsing.transitions, self.tx, after=after, most=most)
        return self._many(("transitions", after, most), lambda keys: ((t.job_key, t) for t in look(keys)))

    def files(self, prefix: str, after: str, most: int) -> DataLoader[int, list[File]]:
        look = partial(browsing.files, self.tx, prefix=prefix, after=after, most=most)
        return self._many(("files", prefix, after, most), lambda keys: ((f.artifact_key, f) for f in look(keys)))

    def inputs(self, most: int) -> DataLoader[int, list[Artifact]]:
        return self._many(("inputs", most), lambda keys: browsing.inputs(self.tx, keys, most))

    def users(self, most: int) -> DataLoader[int, list[User]]:
        look = partial(browsing.users, self.tx, self.pool, most=most)
        return self._many(("users", most), lambda keys: ((user.artifact_key, user) for user in look(keys)))

    def held(self, most: int) -> DataLoader[str, list[Job]]:
        look = partial(browsing.held, self.tx, most=most)
        return self._many(("held", most), lambda ids: ((cast(str, job.worker), job) for job in look(ids)))

    def spend(self, size_bytes: int) -> None:
        """Refuse an answer that would be larger than a server can hold for everybody who asks."""
        self._bytes -= size_bytes
        if self._bytes < 0:
            raise Invalid(
                f"the answer is larger than {self._limits.size_bytes} bytes: ask for fewer rows", Kind.TOO_COSTLY
            )

    async def one(self, looking: DataLoader[K, V | None], key: K | None) -> V | None:
        """What a row names; it counts each time, since many rows may name the same."""
        self.count(1)
        return None if key is None else await looking.load(key)

    async def many(self, looking: DataLoader[K, list[V]], key: K) -> list[V]:
        found = await looking.load(key)
        self.count(len(found))
        return found

    def count(self, rows: int) -> None:
        self._rows -= rows
        if self._rows < 0:
            raise Invalid(f"the answer has more than {self._limits.rows} rows: ask for fewer", Kind.TOO_COSTLY)

    def check_time(self) -> None:
        if time.monotonic() > self._until:
            raise Invalid(
                f"the answer takes longer than {self._limits.seconds:g} s: ask for less at once", Kind.TOO_COSTLY
            )

    def _one(self, name: str, look: Callable[[Sequence[K]], dict[K, V]]) -> DataLoader[K, V | None]:
        async def load(keys: list[K]) -> Sequence[V | None]:
            self.check_time()
            found = look(keys)
            return [found.get(key) for key in keys]

        return cast(DataLoader[K, V | None], self._related.setdefault(name, DataLoader(load)))

    def _many(self, name: Hashable, look: Callable[[Sequence[K]], Iterable[tuple[K, V]]]) -> DataLoader[K, list[V]]:
        async def load(keys: list[K]) -> Sequence[list[V]]:
            self.check_time()
            found: defaultdict[K, list[V]] = defaultdict(list)
            for key, value in look(keys):
                found[key].append(value)
            return [found[key] for key in keys]

        return cast(DataLoader[K, list[V]], self._related.setdefault(name, DataLoader(load)))
