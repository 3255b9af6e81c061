"""What a verification found and what a collection did, as commands tell it."""

from collections.abc import Callable, Sequence

import click
import msgspec

from cableferry.cli import output
from cableferry.cli.exits import Exit
from cableferry.client.artifacts import Artifacts, Wanted
from cableferry.client.errors import NotFound
from cableferry.wire.emx2.artifacts import CollectionBody, FindingBody


class Checked(msgspec.Struct):
    """What was looked at, and what is wrong with it."""

    artifacts: int = 0
    files: int = 0
    bytes: int = 0
    unseen: int = 0
    findings: list[FindingBody] = []

    @property
    def exit(self) -> Exit:
        """Damage says more than what could not be read."""
        if any(finding.problem != "unreachable" for finding in self.findings):
            return Exit.OTHER
        return Exit.UNREACHABLE if self.findings else Exit.OK

    @property
    def verdict(self) -> str:
        if not self.findings:
            return "everything is as it was"
        unread = sum(finding.problem == "unreachable" for finding in self.findings)
        return f"{len(self.findings) - unread} damaged or missing, {unread} could not be read"


def check(artifacts: Artifacts, ids: Sequence[str], tell: Callable[[FindingBody], object]) -> Checked:
    """Look at these artifacts, or at every committed one."""
    checked = Checked()
    for each in ids or [artifact.id for artifact in artifacts.find(Wanted("COMMITTED"))]:
        try:
            _check(artifacts, each, checked, tell)
        except NotFound:
            # of those that nobody named, one may have been deleted since
            if ids:
                raise
    return checked


def _check(artifacts: Artifacts, id: str, checked: Checked, tell: Callable[[FindingBody], object]) -> None:
    for portion in artifacts.verify(id):
        checked.files += portion.files
        checked.bytes += portion.bytes
        checked.unseen += portion.unseen
        checked.findings += portion.findings
        for finding in portion.findings:
            tell(finding)
    checked.artifacts += 1


def tell(finding: FindingBody) -> None:
    what = finding.artifact_id if finding.path is None else f"{finding.artifact_id} {finding.path}"
    where = f" at {finding.place}" if finding.place else ""
    click.echo(output.text(f"{finding.problem}: {what}{where}: expected {finding.expected}, found {finding.found}"))


def show(done: CollectionBody) -> None:
    """A table of what goes, and how much that is."""
    if done.artifacts:
        rows = [(item.id, item.becomes, item.type, item.size_bytes, item.name, item.reason) for item in done.artifacts]
        output.columns(("ARTIFACT", "BECOMES", "TYPE", "BYTES", "NAME", "BECAUSE"), rows)
    for orphan in done.orphaned:
        click.echo(f"orphan {orphan.place}, {orphan.size_bytes} bytes, from {orphan.modified_at}")
    would_be = "would be " if done.dry_run else ""
    click.echo(f"artifacts: {done.failed} {would_be}failed, {done.deleted} {would_be}deleted")
    click.echo(f"blobs that no file refers to: {done.blobs} {would_be}given up ({done.blob_bytes} bytes)")
    click.echo(f"orphans: {done.orphans} {would_be}removed ({done.orphan_bytes} bytes)")
    waiting = f"{done.places_waiting} wait until nobody reads them any more"
    click.echo(f"places: {done.places_removed} {would_be}removed, {waiting}")
