"""A commit in three steps: look at the rows, read what the bytes say outside any transaction, then fix it."""

import hashlib
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from cableferry.core import access, artifacts, contents
from cableferry.core.access import Caller
from cableferry.core.artifacts import Artifact, Declared, Examined, File, Outcome, Residence, Sum
from cableferry.engine import artifacts as owners
from cableferry.engine import outside, tables
from cableferry.engine.reading import Depot, StoredFile
from cableferry.store import files as rows
from cableferry.store.tx import Tx


class Inspection(msgspec.Struct, frozen=True):
    """An artifact and its files as they were at one instant."""

    artifact: Artifact
    files: Sequence[File]
    found: Sum


def examine(depot: Depot, id: str, caller: Caller, declared: Declared) -> Examined:
    """What a commit would fix, and of which revision of the artifact; slow, and so outside the transaction."""
    seen = depot.store.read(lambda tx: inspect(tx, id, caller))
    artifact = seen.artifact
    if artifacts.is_repeated(artifact, declared):
        return Examined(artifact.revision, Outcome())
    artifacts.check_committable(artifact)
    artifacts.check_filled(artifact, seen.found.files)
    known_as = _concatenated(depot, seen, declared)
    contents.check_declared(artifact, declared, seen.found, known_as)
    outcome = _outcome(depot, seen, declared)
    if outcome.failure is not None:
        return Examined(artifact.revision, outcome)
    table = tables.described(depot, artifact, seen.files)
    return Examined(artifact.revision, replace(outcome, table_schema=table.schema, schema_error=table.error))


def inspect(tx: Tx, id: str, caller: Caller) -> Inspection:
    artifact = owners.get(tx, id)
    access.check_own(caller, artifact)
    files = rows.of_artifact(tx, artifact.key)
    return Inspection(artifact, files, contents.add_up(files))


def _outcome(depot: Depot, seen: Inspection, declared: Declared) -> Outcome:
    """What the files say; what nobody can check here, as it was declared."""
    if seen.artifact.residence is not Residence.MANAGED:
        return outside.examined(depot.looking, seen.artifact, seen.files, declared)
    found, said = seen.found, None if declared.sha256 is None else declared.sha256.lower()
    return Outcome(sha256=found.sha256 or said, declared_sha256=said, size_bytes=found.size_bytes)


def _concatenated(depot: Depot, seen: Inspection, declared: Declared) -> str | None:
    """The hash of all bytes in the order they came: some daemons declare this one; read only if it may matter."""
    said = None if declared.sha256 is None else declared.sha256.lower()
    is_stored = seen.artifact.residence is Residence.MANAGED and all(file.is_stored for file in seen.files)
    if said in (None, seen.found.sha256) or not is_stored or declared.size_bytes not in (None, seen.found.size_bytes):
        return None
    whole = hashlib.sha256()
    for file in sorted(seen.files, key=lambda file: file.seq):
        for chunk in StoredFile(depot, file).chunks():
            whole.update(chunk)
    return whole.hexdigest()
