"""Rows of artifacts and files in the order of S3's keys."""

from datetime import datetime
from typing import cast

from cableferry.core.buckets import END, Bucket, Key, Shown
from cableferry.store.tx import Row, Statement, Tx, moment, statement

# the column of names compares by bytes already
_BY_ID, _BY_ID_IN_POSTGRES = "(id || '/')", "((id || '/') COLLATE \"C\")"
_IS_NAMED = "residence = 'managed' AND state = 'committed' AND name NOT LIKE '%/%'"


def _by_id(head: str) -> str:
    # one without a stored file has no key; asked for by an EXISTS, postgres would look at all files of all artifacts
    return f"""SELECT id || '/', key FROM artifacts WHERE residence = 'managed'
        AND {head} > ? AND {head} >= ? AND {head} < ? AND (SELECT f.key FROM files f
        WHERE f.artifact_key = artifacts.key AND f.blob_key IS NOT NULL ORDER BY f.path LIMIT 1) IS NOT NULL
        ORDER BY {head} LIMIT ?"""


_HEADS: dict[Bucket, Statement] = {
    Bucket.ARTIFACTS: statement("heads_by_id", sqlite=_by_id(_BY_ID), postgres=_by_id(_BY_ID_IN_POSTGRES)),
    # of several with one name the one that was created last
    Bucket.NAMES: statement(
        "heads_by_name",
        f"""SELECT (name || '/'), max(key) FROM artifacts WHERE {_IS_NAMED}
        AND (name || '/') > ? AND (name || '/') >= ? AND (name || '/') < ?
        GROUP BY (name || '/') ORDER BY (name || '/') LIMIT ?""",
    ),
}
_ARTIFACT: dict[Bucket, Statement] = {
    Bucket.ARTIFACTS: statement("artifact_of_id", "SELECT key FROM artifacts WHERE id = ? AND residence = 'managed'"),
    Bucket.NAMES: statement(
        "artifact_of_name", f"SELECT max(key) FROM artifacts WHERE {_IS_NAMED} AND (name || '/') = ? || '/'"
    ),
}
_FILES = statement(
    "stored_files_page",
    """SELECT path, size_bytes, sha256, created_at, etag FROM files
    WHERE artifact_key = ? AND path > ? AND path >= ? AND path < ? AND blob_key IS NOT NULL ORDER BY path LIMIT ?""",
)


def heads(tx: Tx, bucket: Bucket, prefix: str, after: str, limit: int) -> list[tuple[str, int]]:
    """What keys begin with, slash included, and which artifact that is."""
    return [(head, key) for head, key in tx.all(_HEADS[bucket], (after, prefix, prefix + END, limit))]


def artifact(tx: Tx, bucket: Bucket, head: str) -> int | None:
    """The artifact that this part of a key, without its slash, stands for."""
    row = tx.one(_ARTIFACT[bucket], (head,))
    return None if row is None else row[0]


def files(tx: Tx, artifact_key: int, prefix: Key, after: str, limit: int) -> list[Shown]:
    """The stored files of an artifact, those that begin with the prefix and come behind a path."""
    found = tx.all(_FILES, (artifact_key, after, prefix.path, prefix.path + END, limit))
    return [_shown(prefix.head, row) for row in found]


def _shown(head: str, row: Row) -> Shown:
    path, size_bytes, sha256, created_at, etag = row
    return Shown(f"{head}/{path}", size_bytes, sha256, cast(datetime, moment(created_at)), etag)
