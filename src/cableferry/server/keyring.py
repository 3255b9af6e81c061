"""Workers' secrets in memory, read from the database again whenever they may have changed."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from cableferry.core import accounts
from cableferry.core.credentials import Sealed
from cableferry.engine import credentials
from cableferry.server.vault import Vault, WrongKey
from cableferry.store import credentials as rows
from cableferry.store.tx import News, Store, Tx

_MOST = 4096


class Key(msgspec.Struct, frozen=True, eq=False):
    """One secret that signs for a worker; row 0 is the shared one."""

    row: int
    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"Key({self.id!r})"


class Ring(msgspec.Struct, frozen=True, eq=False):
    """A worker's usable secrets; `has_own` says whether it ever had one, used up or not."""

    keys: tuple[Key, ...]
    has_own: bool


class Keyring:
    """What is in memory may be old: whoever relies on it asks the database as well, when it commits."""

    def __init__(self, store: Store, vault: Vault) -> None:
        self._store = store
        self._vault = vault
        self._rings: dict[str, Ring] = {}
        self._used: dict[int, datetime] = {}
        store.on_news(self._hear)

    def known(self, worker: str) -> Ring | None:
        return self._rings.get(worker)

    async def load(self, worker: str) -> Ring:
        """The worker's secrets as the database has them now."""
        sealed, has_own = await self._store.aread(lambda tx: _find(tx, worker))
        ring = Ring(self._opened(sealed), has_own)
        if len(self._rings) >= _MOST:
            self._rings.clear()
        self._rings[worker] = ring
        return ring

    def forget(self, worker: str) -> None:
        self._rings.pop(worker, None)

    def is_worth_noting(self, key: Key, now: datetime) -> bool:
        """Whether this use is to be written down; once a minute is enough."""
        if not accounts.is_stale(self._used.get(key.row), now):
            return False
        if len(self._used) >= _MOST:
            self._used.clear()
        self._used[key.row] = now
        return True

    def _opened(self, sealed: Iterable[Sealed]) -> tuple[Key, ...]:
        """A secret of an earlier key does not hide one of the present key."""
        found, wrong = [], None
        for each in sealed:
            try:
                secret = self._vault.open(each.box, credentials.about(each.id, each.worker))
            except WrongKey as error:
                wrong = error
            else:
                found.append(Key(each.key, each.id, secret))
        if wrong is not None and not found:
            raise wrong
        return tuple(found)

    def _hear(self, news: Iterable[News]) -> None:
        for item in news:
            if item.topic == "credential":
                self.forget(item.subject)


def _find(tx: Tx, worker: str) -> tuple[list[Sealed], bool]:
    return rows.usable(tx, worker, tx.now), rows.exist_for(tx, worker)
