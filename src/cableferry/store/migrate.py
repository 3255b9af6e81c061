"""Brings a database to the version of this program, one numbered file and one transaction at a time."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from cableferry.store.failures import WrongSchema

FOLDER = Path(__file__).parent / "migrations"
_NAME = re.compile(r"(\d{4})_(\w+)\.(sqlite|postgres)\.sql")


class Migration(msgspec.Struct, frozen=True):
    """One step between two versions; its number is the version after it."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


class Applied(msgspec.Struct, frozen=True):
    """What a database remembers of a migration."""

    number: int
    name: str
    checksum: str


class Ledger(Protocol):
    """A database as the migrations see it."""

    def applied(self) -> list[Applied]: ...

    def apply(self, migration: Migration) -> bool:
        """Run and record it in one transaction under a lock; False when another process was faster."""
        ...


def known(database: str, folder: Path = FOLDER) -> list[Migration]:
    """The migrations that this program carries for `sqlite` or `postgres`, in order."""
    found = [
        Migration(int(match[1]), match[2], path.read_text())
        for path in sorted(folder.glob("*.sql"))
        if (match := _NAME.fullmatch(path.name)) and match[3] == database
    ]
    numbers = [migration.number for migration in found]
    if numbers != list(range(1, len(found) + 1)):
        raise WrongSchema(f"the migrations for {database} in {folder} are not numbered 1, 2, 3: {numbers}")
    return found


def upgrade(ledger: Ledger, migrations: Sequence[Migration]) -> list[str]:
    """Apply what is missing, and say what was applied."""
    pending = _pending(ledger.applied(), migrations)
    return [f"{step.number:04} {step.name}" for step in pending if ledger.apply(step)]


def require_current(ledger: Ledger, migrations: Sequence[Migration]) -> None:
    applied = ledger.applied()
    if _pending(applied, migrations):
        raise WrongSchema(
            f"the database is at version {len(applied)} and this program needs version {len(migrations)}: "
            "run `cableferry db upgrade`"
        )


def _pending(applied: Sequence[Applied], migrations: Sequence[Migration]) -> Sequence[Migration]:
    if len(applied) > len(migrations):
        raise WrongSchema(
            f"the database is at version {applied[-1].number} ({applied[-1].name}) and this program knows "
            f"version {len(migrations)}: start the newer program, or restore a backup made before its upgrade"
        )
    for done, step in zip(applied, migrations, strict=False):
        if (done.number, done.checksum) != (step.number, step.checksum):
            raise WrongSchema(
                f"migration {done.number:04} {done.name} of the database is not the one of this program: "
                "it was made by another build; start that build, or restore a backup"
            )
    return migrations[len(applied) :]
