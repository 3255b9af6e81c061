"""What the table in an artifact holds, read before its commit and outside any transaction."""

from collections.abc import Iterator, Sequence

import msgspec

from cableferry.core import contents, csvs, parquet
from cableferry.core.artifacts import Artifact, File, Residence, Role
from cableferry.core.schemas import Schema, SchemaError
from cableferry.engine.reading import Depot, StoredFile
from cableferry.store.failures import BlobFailure

FORMATS = {"parquet": "parquet", "pq": "parquet", "csv": "csv", "tsv": "csv"}


class Described(msgspec.Struct, frozen=True):
    """A schema, or why there is none; neither for what is no table."""

    schema: msgspec.Raw | None = None
    error: str | None = None


def described(depot: Depot, artifact: Artifact, files: Sequence[File]) -> Described:
    """The schema of the artifact's table; trouble with it is told, and no reason to refuse the commit."""
    file = _table(artifact, files or _alone(artifact))
    if file is None:
        return Described()
    try:
        schema = _schema(depot, artifact, file)
    except SchemaError as error:
        return Described(error=f"{file.path}: {error.detail}")
    except BlobFailure as failure:
        return Described(error=f"{file.path} cannot be read: {failure}")
    return Described() if schema is None else Described(msgspec.Raw(msgspec.json.encode(schema)))


def _alone(artifact: Artifact) -> Sequence[File]:
    """Without files, the one that the content_url itself names."""
    path = (artifact.content_url or "").rpartition("/")[2]
    if artifact.residence is Residence.MANAGED or _suffix(path) not in FORMATS:
        return ()
    return (File(0, artifact.key, path, "", None, None, None, None, None, 0, artifact.created_at),)


def _table(artifact: Artifact, files: Sequence[File]) -> File | None:
    """The primary file, the only one, or the first whose name says that it is a table."""
    tables = [file for file in files if _format(artifact, file) is not None]
    primary = [file for file in files if file.role is Role.PRIMARY]
    if primary:
        return primary[0] if primary[0] in tables else None
    named = [file for file in tables if _suffix(file.path) in FORMATS]
    return next(iter(tables if len(files) == 1 else named), None)


def _format(artifact: Artifact, file: File) -> str | None:
    """What the artifact says it is, else what the file's name says."""
    told = artifact.format
    return FORMATS.get(_suffix(file.path) if told is None else told.lower())


def _suffix(path: str) -> str:
    return path.rpartition(".")[2].lower()


def _schema(depot: Depot, artifact: Artifact, file: File) -> Schema | None:
    if artifact.residence is Residence.MANAGED:
        return _stored(depot, artifact, file) if file.is_stored else None
    location = contents.location(artifact, file.path)
    if not depot.looking.elsewhere.allows(location):
        return None
    with depot.looking.elsewhere.opened(location) as opened:
        size = opened.found.size_bytes
        if _format(artifact, file) == parquet.FORMAT:
            if size is None:
                raise SchemaError("its size is not told, so its footer cannot be found")
            return parquet.describe(opened.read, size)
        return csvs.describe(_bounded(opened.chunks(), depot.schema_limit_bytes))


def _stored(depot: Depot, artifact: Artifact, file: File) -> Schema:
    stored = StoredFile(depot, file)
    if _format(artifact, file) == parquet.FORMAT:
        return parquet.describe(stored.read, file.size_bytes or 0)
    return csvs.describe(_bounded(stored.chunks(), depot.schema_limit_bytes))


def _bounded(chunks: Iterator[bytes], most: int) -> Iterator[bytes]:
    """A commit is waited for, so a text is not read without end."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise SchemaError(f"the file is larger than the {most} bytes that are read to describe one")
        yield chunk
