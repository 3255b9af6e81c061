"""Inputs that lie on a file system which the nodes see too: checked where they are, and linked."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from cableferry import failpoints
from cableferry.client import crowd
from cableferry.client.answers import Artifact, File
from cableferry.core import contents
from cableferry.daemon.staging.desk import Brought, Desk, Order, Site, check_file, check_names, check_whole
from cableferry.daemon.staging.outcomes import Mismatch, Unusable


def link(desk: Desk, site: Site, order: Order, artifact: Artifact) -> Brought:
    """A link to where it lies, once its files are what the artifact says."""
    place = _place(site, artifact)
    listed = list(desk.artifacts.files(artifact.id))
    check_names(listed)
    found = list(_at(place, listed))
    work = partial(_verified, desk)
    check_whole(artifact, crowd.each(work, found, site.threads))
    point(order.input_dir / artifact.id, str(place))
    return Brought(order.input_dir / artifact.id, place, len(found), artifact.size_bytes or 0)


def _verified(desk: Desk, found: tuple[File, Path]) -> tuple[str, str]:
    file, path = found
    try:
        return file.path, check_file(file, desk.verified.sha256(path, desk.look))
    except FileNotFoundError:
        raise Mismatch(f"{file.path} is not there: {path}") from None


def _place(site: Site, artifact: Artifact) -> Path:
    """Where it lies, as it was written; neither the path nor a link on it may lead out of the site's roots."""
    url = artifact.content_url or ""
    if not url.startswith("file:///"):
        raise Unusable(f"its content_url is {url[:100]!r}, which names no file here")
    path = Path(contents.posix_path(url))
    if ".." in path.parts or "\0" in str(path):
        raise Unusable(f"its content_url {url[:200]!r} is no plain path")
    if not any(path.is_relative_to(root) for root in site.roots):
        raise Unusable(f"{path} lies under none of the folders that inputs may come from: see posix_roots")
    try:
        real = path.resolve(strict=True)
    except FileNotFoundError:
        raise Mismatch(f"{path} is not there") from None
    if not any(real.is_relative_to(root.resolve()) for root in site.roots):
        raise Unusable(f"{path} leads to {real}, out of the folders that inputs may come from")
    return path


def _at(place: Path, listed: Sequence[File]) -> Iterator[tuple[File, Path]]:
    """Each file and where it is; an artifact that lists none has all that is found."""
    if place.is_file():
        for file in listed or [File(place.name)]:
            yield file, place
        return
    for file in listed:
        yield file, place.joinpath(*file.path.split("/"))
    if not listed:
        for folder, _, names in os.walk(place):
            for name in names:
                path = Path(folder, name)
                yield File(path.relative_to(place).as_posix()), path


def point(link: Path, target: str) -> None:
    """A link that is there whole or not at all, whatever stood there before."""
    if link.is_symlink() and os.readlink(link) == target:
        return
    with failpoints.crossing("file", "link"):
        fresh = link.with_name(f"{link.name}.new")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(target)
        os.replace(fresh, link)
