"""The inputs of one job, from wherever they are to its input folder, every byte checked."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cableferry import failpoints
from cableferry.client import transfers
from cableferry.client.answers import Artifact
from cableferry.client.errors import NotFound
from cableferry.core import artifacts as kinds
from cableferry.core.jobs import Cause
from cableferry.daemon.staging import downloads, links, outcomes, references
from cableferry.daemon.staging.desk import Brought, Desk, Order, Site
from cableferry.daemon.staging.outcomes import Cancelled, Failed, Mismatch, Unusable
from cableferry.daemon.staging.references import BadInputs, Reference
from cableferry.daemon.staging.web import Visits


class Staged(msgspec.Struct, frozen=True):
    """Where each artifact is found, which places a container must see besides, and what was only passed on."""

    folders: dict[str, Path]
    outside: tuple[Path, ...] = ()
    passed: tuple[str, ...] = ()
    files: int = 0
    bytes: int = 0


def stage(desk: Desk, site: Site, order: Order) -> Staged | Failed | Cancelled:
    """Everything the job names, or why not; the detail names the input, and of a mismatch the file."""
    try:
        wanted = references.references(order.inputs)
    except BadInputs as error:
        return Failed(Cause.STAGING, f"staging: {error}")
    staged = Staged({})
    for each in wanted:
        try:
            staged = _with(staged, each, _bring(desk, site, order, each))
        except outcomes.KNOWN as error:
            prefix = "" if isinstance(error, Mismatch | transfers.WrongHash) else "staging: "
            return outcomes.failed(error, Cause.STAGING, f"{prefix}input {each.id}: ")
    try:
        _link_names(order.input_dir, wanted, staged)
    except OSError as error:
        return outcomes.failed(error, Cause.STAGING, "staging: ")
    return staged


def _with(staged: Staged, each: Reference, brought: Brought) -> Staged:
    folders = staged.folders if brought.place is None else {**staged.folders, each.id: brought.place}
    outside = staged.outside if brought.outside is None else (*staged.outside, brought.outside)
    passed = staged.passed if brought.place is not None else (*staged.passed, each.id)
    return Staged(folders, outside, passed, staged.files + brought.files, staged.bytes + brought.bytes)


def _bring(desk: Desk, site: Site, order: Order, each: Reference) -> Brought:
    desk.go_on()
    order.input_dir.mkdir(parents=True, exist_ok=True)
    try:
        artifact = desk.artifacts.get(each.id)
    except NotFound:
        # not everything that a job names is an artifact; what looks like the id of one must be one
        if kinds.is_id(each.id):
            raise
        return Brought(None)
    if artifact.status not in ("COMMITTED", ""):
        raise Unusable(f"the artifact is {artifact.status}, not COMMITTED")
    match artifact.residence:
        case "managed":
            return downloads.download(desk, site, order, artifact, downloads.stored(desk, artifact))
        case "http" | "s3":
            with Visits(site.web) as visits:
                return downloads.download(desk, site, order, artifact, downloads.elsewhere(desk, visits, artifact))
        case "posix":
            return links.link(desk, site, order, artifact)
        case _:
            return _pass_on(order, artifact)


def _pass_on(order: Order, artifact: Artifact) -> Brought:
    """What is known of an artifact whose bytes are somebody else's affair."""
    known = {
        name: getattr(artifact, name)
        for name in ("id", "name", "type", "format", "residence", "content_url", "sha256", "size_bytes", "metadata")
    }
    fresh = order.input_dir / f"{artifact.id}.json.new"
    fresh.write_bytes(msgspec.json.encode(known))
    with failpoints.crossing("file", "reference"):
        os.replace(fresh, order.input_dir / f"{artifact.id}.json")
    return Brought(None)


def _link_names(input_dir: Path, wanted: Sequence[Reference], staged: Staged) -> None:
    """The names that the job gives its inputs, where nothing else has them."""
    for each in wanted:
        if each.name is None or each.id not in staged.folders or each.name in staged.folders:
            continue
        link = input_dir / each.name
        if link.is_symlink() or not link.exists():
            links.point(link, each.id)
