"""How a SQLite database takes and remembers migrations."""

from pathlib import Path

import apsw

from cableferry.store import sqlite
from cableferry.store.failures import WrongSchema
from cableferry.store.migrate import Applied, Migration

_CREATE = """
    CREATE TABLE IF NOT EXISTS migrations (
        number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at TEXT NOT NULL
    )"""
_EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'"
_APPLIED = "SELECT number, name, checksum FROM migrations ORDER BY number"
_RECORD = "INSERT INTO migrations VALUES (?, ?, ?, datetime('now'))"


class SqliteLedger:
    """A connection of its own, closed before the store opens."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite.connect(path)
        # a migration may rebuild a table that others refer to; apply() checks the references itself
        self._connection.execute("PRAGMA foreign_keys = OFF")

    def applied(self) -> list[Applied]:
        if not self._connection.execute(_EXISTS).fetchall():
            return []
        return [Applied(*row) for row in self._connection.execute(_APPLIED)]

    def apply(self, migration: Migration) -> bool:
        self._connection.execute("BEGIN EXCLUSIVE")
        try:
            is_missing = len(self.applied()) < migration.number
            if is_missing:
                self._run(migration)
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        return is_missing

    def _run(self, migration: Migration) -> None:
        self._connection.execute(_CREATE)
        try:
            self._connection.execute(migration.text)
        except apsw.Error as error:
            raise WrongSchema(f"migration {migration.name} failed and changed nothing: {error}") from error
        if not self._connection.in_transaction:
            raise WrongSchema(f"migration {migration.name} ends the transaction that it runs in")
        if broken := self._connection.execute("PRAGMA foreign_key_check").fetchall():
            raise WrongSchema(f"migration {migration.name} leaves {len(broken)} rows that refer to nothing")
        self._connection.execute(_RECORD, (migration.number, migration.name, migration.checksum))

    def close(self) -> None:
        self._connection.close()
