"""How a PostgreSQL database takes and remembers migrations."""

import psycopg

from cableferry.store import postgres
from cableferry.store.failures import Unavailable, WrongSchema
from cableferry.store.migrate import Applied, Migration

# any number will do as long as no other program on this database takes it
_LOCK = 7_225_338_190_412_001
_CREATE = """
    CREATE TABLE IF NOT EXISTS migrations (
        number BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL,
        applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
    )"""
# read as a table, because to_regclass may remember that there was none before the lock was ours
_EXISTS = "SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'migrations' AND pg_table_is_visible(oid)"
_APPLIED = "SELECT number, name, checksum FROM migrations ORDER BY number"
_RECORD = "INSERT INTO migrations (number, name, checksum) VALUES (%s, %s, %s)"


class PostgresLedger:
    """A connection of its own, closed before the store opens."""

    def __init__(self, url: str) -> None:
        try:
            self._connection = postgres.connect(url)
        except psycopg.OperationalError as error:
            raise Unavailable(f"the database does not answer: {error}") from error

    def applied(self) -> list[Applied]:
        if self._connection.execute(_EXISTS).fetchone() is None:
            return []
        return [Applied(*row) for row in self._connection.execute(_APPLIED)]

    def apply(self, migration: Migration) -> bool:
        with self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            is_missing = len(self.applied()) < migration.number
            if is_missing:
                self._run(migration)
        return is_missing

    def _run(self, migration: Migration) -> None:
        self._connection.execute(_CREATE)
        try:
            # without parameters a whole file may run at once
            self._connection.execute(migration.text.encode())
        except psycopg.Error as error:
            raise WrongSchema(f"migration {migration.name} failed and changed nothing: {error}") from error
        if self._connection.info.transaction_status is not psycopg.pq.TransactionStatus.INTRANS:
            raise WrongSchema(f"migration {migration.name} ends the transaction that it runs in")
        self._connection.execute(_RECORD, (migration.number, migration.name, migration.checksum))

    def close(self) -> None:
        self._connection.close()
