"""What a commit says of content that lies elsewhere: as far as this server may look, it looks."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from cableferry.core import contents
from cableferry.core.artifacts import Artifact, Declared, File, Outcome, Residence
from cableferry.store.elsewhere import Found, Unreachable
from cableferry.store.elsewhere.looking import Elsewhere


class Looking(msgspec.Struct, frozen=True):
    """Where this server may look, and up to which size it reads what it finds."""

    elsewhere: Elsewhere
    hash_up_to: int = 0


class Mismatch(Exception):
    """What was found is not what was said; the message tells both."""


def examined(looking: Looking, artifact: Artifact, files: Sequence[File], declared: Declared) -> Outcome:
    """The content as it was found where this server may look, and as it was declared where it may not."""
    said = None if declared.sha256 is None else declared.sha256.lower()
    if artifact.residence is Residence.REFERENCE:
        total = contents.add_up(files)
        size = total.size_bytes if files else declared.size_bytes
        return Outcome(sha256=total.sha256 or said, declared_sha256=said, size_bytes=size)
    try:
        found = _all(looking, artifact, files) if files else _alone(looking, artifact, declared)
        _check(f"artifact {artifact.id}", declared, found)
    except Mismatch as mismatch:
        return Outcome(failure=str(mismatch))
    return Outcome(
        sha256=found.sha256 or said,
        declared_sha256=said,
        size_bytes=declared.size_bytes if found.size_bytes is None else found.size_bytes,
    )


def _all(looking: Looking, artifact: Artifact, files: Sequence[File]) -> Found:
    total = contents.add_up(list(_measured(looking, artifact, files)))
    return Found(total.size_bytes, sha256=total.sha256)


def _measured(looking: Looking, artifact: Artifact, files: Sequence[File]) -> Iterator[File]:
    """The files with what was found of each."""
    for file in files:
        found = _found(looking, contents.location(artifact, file.path), f"file {file.path}")
        if found is None:
            yield file
            continue
        if found.is_folder:
            raise Mismatch(f"file {file.path} is a folder")
        _check(f"file {file.path}", Declared(file.sha256, file.size_bytes), found)
        yield replace(
            file,
            sha256=found.sha256 or file.sha256,
            size_bytes=file.size_bytes if found.size_bytes is None else found.size_bytes,
        )


def _alone(looking: Looking, artifact: Artifact, declared: Declared) -> Found:
    """What its content_url names, when no files were; of a folder nothing more is known."""
    found = _found(looking, artifact.content_url or "", "content_url")
    return Found(None) if found is None else found


def _found(looking: Looking, location: str, what: str) -> Found | None:
    if not looking.elsewhere.allows(location):
        return None
    match looking.elsewhere.measure(location, looking.hash_up_to):
        case Unreachable(reason=reason):
            raise Mismatch(f"{what}: {reason}")
        case Found() as found:
            return found


def _check(what: str, said: Declared, found: Found) -> None:
    """Hashes of other kinds cannot be compared, and are kept as they were declared."""
    if None not in (said.size_bytes, found.size_bytes) and said.size_bytes != found.size_bytes:
        raise Mismatch(f"{what} was declared with {said.size_bytes} bytes, but has {found.size_bytes}")
    is_comparable = said.sha256 is not None and contents.SHA256.fullmatch(said.sha256)
    if is_comparable and found.sha256 is not None and (said.sha256 or "").lower() != found.sha256.lower():
        raise Mismatch(f"{what} was declared with SHA-256 {said.sha256}, but has {found.sha256}")
