"""Folders of migrations for tests: the shipped ones, fewer, or more."""

import shutil
from pathlib import Path
from typing import Any

from cableferry.store import connect, migrate

# what each version can hold, as plain statements for both databases; a new migration adds its own line
SEEDS: dict[int, tuple[str, ...]] = {
    1: (
        "INSERT INTO throttles (subject, failures, last_at, blocked_until) VALUES ('seed', 1, 2, 3)",
        """INSERT INTO jobs (id, pool, state, attempt, epoch, revision, processor, priority,
        created_at, moved_at, touched_at) VALUES ('j1', 'p', 'ready', 1, 0, 1, 'x', 0, 1, 1, 1)""",
    ),
    2: (
        """INSERT INTO artifacts (id, state, revision, type, residence, metadata, created_at, touched_at)
        VALUES ('a1', 'uploading', 2, 'blob', 'managed', 'null', 1, 1)""",
        "INSERT INTO blobs (sha256, size_bytes, created_at) VALUES ('aa', 1, 1)",
        "INSERT INTO blob_pieces (blob_key, seq, place, size_bytes) SELECT key, 0, 'aa/aa', 1 FROM blobs",
        """INSERT INTO files (artifact_key, path, id, sha256, size_bytes, blob_key, seq, created_at)
        SELECT a.key, 'x', 'f1', 'aa', 1, b.key, 2, 1 FROM artifacts a, blobs b""",
        """INSERT INTO uploads (id, artifact_key, path, kind, received, revision, created_at, touched_at)
        SELECT 'u1', key, 'y', 'tus', 1, 1, 1, 1 FROM artifacts""",
        """INSERT INTO upload_pieces (upload_key, number, place, size_bytes, sha256, at)
        SELECT key, 0, 'bb/bb', 1, 'bb', 1 FROM uploads""",
        "INSERT INTO dead_places (place, at) VALUES ('cc/cc', 1)",
        """INSERT INTO artifact_uses (artifact_key, job_key, used_as)
        SELECT a.key, j.key, 'input' FROM artifacts a, jobs j""",
    ),
    3: (
        """INSERT INTO access_keys (id, worker, may_write, sealed, created_at)
        VALUES ('CF1', 'w1', 1, 'box', 1)""",
    ),
    4: (
        "UPDATE jobs SET preferred_worker = 'w1', is_pinned = 1, kept_for = 'w1', remarks = '{}' WHERE id = 'j1'",
        "INSERT INTO unprojected (pool, job_id, marked_at) VALUES ('p', 'j1', 1)",
    ),
    5: ("UPDATE uploads SET completed_at = 2",),
    6: (
        """INSERT INTO logs (job_key, attempt, stream, size_bytes, is_cut, touched_at)
        SELECT key, 1, 'stdout', 1, 0, 1 FROM jobs WHERE id = 'j1'""",
        "INSERT INTO log_chunks (log_key, start, content) SELECT key, 0, 'x' FROM logs",
        "INSERT INTO log_watches (job_key, until_at) SELECT key, 1 FROM jobs WHERE id = 'j1'",
    ),
    7: (
        "UPDATE artifacts SET last_used_at = 2",
        "UPDATE blobs SET damaged_at = 3",
    ),
    8: (
        "INSERT INTO configs (pool, name, content, changed_at) VALUES ('opeva', 'a.yaml', 'a: 1', 1)",
        "INSERT INTO job_configs (job_key, content) SELECT key, 'a: 1' FROM jobs WHERE id = 'j1'",
    ),
    9: (
        "UPDATE files SET etag = 'aa', headers = '{}' WHERE path = 'x'",
        "UPDATE upload_pieces SET md5 = 'bb'",
    ),
    10: ("INSERT INTO samples (pool, at, state, jobs) VALUES ('p', 60, 'ready', 1)",),
    11: (
        "UPDATE workers SET agent = 'a', clock_ahead = 1, trouble = 't', drained_at = 1, drained_by = 'user:mia'",
        "INSERT INTO traffic (at, received, sent) VALUES (60, 1, 2)",
        "INSERT INTO deeds (at, actor, what) VALUES (1, 'user:mia', 'signed in')",
    ),
}


class Versions:
    """One folder of migrations for one database."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self._kind = kind

    @classmethod
    def shipped(cls, folder: Path, kind: str) -> "Versions":
        shutil.copytree(migrate.FOLDER, folder)
        return cls(folder, kind)

    @property
    def newest(self) -> int:
        return len(migrate.known(self._kind, self.folder))

    def add(self, name: str, text: str) -> None:
        (self.folder / f"{self.newest + 1:04}_{name}.{self._kind}.sql").write_text(text)

    def replace(self, name: str, text: str) -> None:
        (found,) = self.folder.glob(f"*_{name}.{self._kind}.sql")
        found.write_text(text)

    def up_to(self, number: int) -> Path:
        """A folder with the first migrations only."""
        fewer = self.folder.with_name(f"up-to-{number}")
        fewer.mkdir()
        for path in self.folder.glob("*.sql"):
            if int(path.name[:4]) <= number:
                shutil.copy(path, fewer)
        return fewer

    def none(self) -> Path:
        return self.up_to(0)

    def seed(self, url: str, number: int) -> None:
        self.rows(url, *SEEDS[number])

    def rows(self, url: str, *texts: str) -> list[Any]:
        """Run statements on a database of any version; the rows of the last one."""
        if self._kind == "sqlite":
            connection = connect.driver("sqlite").connect(connect.path_of(url))
        else:
            connection = connect.driver("postgres").connect(url)
        try:
            for text in texts:
                cursor = connection.execute(text)
            return list(cursor) if text.startswith("SELECT") else []
        finally:
            connection.close()
