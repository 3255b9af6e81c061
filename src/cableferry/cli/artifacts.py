"""The commands about artifacts."""

from pathlib import Path

import click

from cableferry.cli import connection, output
from cableferry.cli.commands import command, usage
from cableferry.cli.connection import Target, connected

_ID = click.argument("id_", metavar="ID")
_IDS = click.argument("ids", metavar="ID...", nargs=-1, required=True)
_THREADS = click.option(
    "--parallel", "threads", type=click.IntRange(1, 64), default=8, metavar="N", help="So many files at once.  [8]"
)
_STATUSES = ["CREATED", "UPLOADING", "REGISTERED", "COMMITTED", "FAILED"]


@command(
    "put",
    "Bring files or folders into a new artifact and commit it; if that breaks off, go on with --artifact.",
    "cableferry artifacts put results/ --name run-7 --exclude '*.tmp'\n"
    "cableferry artifacts put table.parquet --type tabular --format parquet\n"
    "cableferry artifacts put results/ --artifact 0195...",
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", help="Name of the artifact.")
@click.option("--type", "type_", default="blob", help="What it is: tabular, model, dataset, log, report, ...  [blob]")
@click.option("--format", "format_", help="Encoding of its main file: parquet, csv, gguf, ...")
@click.option(
    "--artifact", "into", metavar="ID", help="Go on with this artifact; what it has already is not sent again."
)
@click.option(
    "--exclude", multiple=True, metavar="PATTERN", help="Leave out files and folders of such names; may be repeated."
)
@click.option("--no-commit", "is_left_open", is_flag=True, help="Leave the artifact open for more files.")
@_THREADS
@connection.options
def put(
    target: Target,
    paths: tuple[Path, ...],
    name: str | None,
    type_: str,
    format_: str | None,
    into: str | None,
    exclude: tuple[str, ...],
    is_left_open: bool,
    threads: int,
    as_json: bool,
) -> None:
    from cableferry.cli import bars, sending
    from cableferry.wire.emx2.artifacts import CreateArtifactBody

    found = sending.sources(paths, exclude)
    with connected(target) as client:
        wanted = CreateArtifactBody(type_, format_, name=name)
        artifact = client.artifacts.get(into) if into else client.artifacts.create(wanted)
    if not into:
        click.echo(f"artifact {artifact.id}; if this breaks off, go on with --artifact {artifact.id}", err=True)
    with connected(target, is_patient=True) as client:
        artifacts = client.artifacts
        with bars.shown("put", sum(source.size_bytes for source in found)) as moved:
            sent = sending.send(artifacts, artifact, found, threads, moved)
        artifact = artifact if is_left_open else artifacts.commit(artifact.id)
    if as_json:
        output.document({"artifact": artifact, "files": sent.files, "bytes": sent.bytes, "skipped": sent.skipped})
    else:
        click.echo(
            f"{artifact.id}  {artifact.status}  {sent.files} files, {sent.bytes} bytes, {sent.skipped} there before"
        )


@command(
    "get",
    "Download an artifact, or some of its files and folders; what is there already is not brought again.",
    "cableferry artifacts get 0195... --to results\ncableferry artifacts get 0195... logs/ table.csv",
)
@_ID
@click.argument("paths", metavar="[PATH...]", nargs=-1)
@click.option(
    "--to", "folder", type=click.Path(path_type=Path, file_okay=False), help="The folder.  [named like the ID]"
)
@_THREADS
@connection.options
def get(target: Target, id_: str, paths: tuple[str, ...], folder: Path | None, threads: int, as_json: bool) -> None:
    from cableferry.cli import bars, fetching

    with connected(target) as client:
        files = fetching.chosen(client.artifacts, id_, paths)
    total_bytes = sum(file.size_bytes or 0 for file in files)
    with connected(target, is_patient=True) as client, bars.shown("get", total_bytes) as moved:
        fetched = fetching.fetch(client.artifacts, id_, files, folder or Path(id_), threads, moved)
    if as_json:
        output.document(fetched)
    else:
        click.echo(f"{fetched.folder}: {fetched.files} files, {fetched.bytes} bytes, {fetched.skipped} there before")


@command(
    "ls",
    "List artifacts, the newest first; with an ID, the files of that one.",
    "cableferry artifacts ls --type model\n"
    "cableferry artifacts ls --search run-7 --json\n"
    "cableferry artifacts ls 0195... logs/",
)
@click.argument("id_", metavar="[ID]", required=False)
@click.argument("prefix", metavar="[PREFIX]", default="")
@click.option("--status", type=click.Choice(_STATUSES, case_sensitive=False), help="Artifacts of this status only.")
@click.option("--type", "type_", help="Artifacts of this type only.")
@click.option("--name", help="Artifacts of exactly this name.")
@click.option("--job", "job_id", metavar="ID", help="Artifacts that this job made.")
@click.option("--search", metavar="TEXT", help="Part of a name, or the beginning of an id.")
@click.option("--limit", type=click.IntRange(min=1), default=100, help="At most so many artifacts.  [100]")
@connection.options
def ls(
    target: Target,
    id_: str | None,
    prefix: str,
    status: str | None,
    type_: str | None,
    name: str | None,
    job_id: str | None,
    search: str | None,
    limit: int,
    as_json: bool,
) -> None:
    from cableferry.client.artifacts import Wanted

    with connected(target) as client:
        if id_ is not None:
            _list_files(list(client.artifacts.files(id_, prefix)), as_json)
            return
        wanted = Wanted(status, type_, name=name, job_id=job_id, q=search, order="newest")
        found = list(client.artifacts.find(wanted, limit))
    if as_json:
        output.listing(found)
    else:
        rows = [(a.id, a.status, a.type, a.format, a.residence, a.size_bytes, a.name, a.created_at) for a in found]
        output.columns(("ARTIFACT", "STATUS", "TYPE", "FORMAT", "RESIDENCE", "BYTES", "NAME", "CREATED"), rows)


def _list_files(files: list[object], as_json: bool) -> None:
    from cableferry.client.answers import File

    if as_json:
        output.listing(files)
    else:
        rows = [(f.size_bytes, f.role, f.sha256, f.path) for f in files if isinstance(f, File)]
        output.columns(("BYTES", "ROLE", "SHA-256", "PATH"), rows)


@command("show", "Show one artifact.", "cableferry artifacts show 0195...")
@_ID
@connection.options
def show(target: Target, id_: str, as_json: bool) -> None:
    with connected(target) as client:
        artifact = client.artifacts.get(id_)
    if as_json:
        output.document(artifact)
        return
    schema = bytes(artifact.schema)
    output.fields(
        [
            ("artifact", artifact.id),
            ("status", artifact.status),
            ("name", artifact.name),
            ("type", artifact.type),
            ("format", artifact.format),
            ("residence", artifact.residence),
            ("location", artifact.content_url),
            ("SHA-256", artifact.sha256),
            ("bytes", artifact.size_bytes),
            ("schema", None if schema == b"null" else schema),
            ("schema error", artifact.schema_error),
            ("detail", artifact.detail),
            ("created by", artifact.created_by),
            ("created", artifact.created_at),
            ("committed", artifact.committed_at),
        ]
    )


@command("rm", "Delete artifacts with their files.", "cableferry artifacts rm 0195...")
@_IDS
@connection.options
def rm(target: Target, ids: tuple[str, ...], as_json: bool) -> None:
    with connected(target) as client:
        for each in ids:
            client.artifacts.delete(each)
    if as_json:
        output.document({"deleted": list(ids)})


@command(
    "verify",
    "Have the server read and hash artifacts again, all committed ones if none is named; exit code 1 says that some are"
    " damaged, 7 that some could not be read.",
    "cableferry artifacts verify 0195...\ncableferry artifacts verify --json",
)
@click.argument("ids", metavar="[ID...]", nargs=-1)
@connection.options
def verify(target: Target, ids: tuple[str, ...], as_json: bool) -> int:
    from cableferry.cli import checking

    with connected(target) as client:
        checked = checking.check(client.artifacts, ids, output.ignore if as_json else checking.tell)
    if as_json:
        output.document(checked)
    else:
        click.echo(f"{checked.artifacts} artifacts, {checked.files} files, {checked.bytes} bytes: {checked.verdict}")
    return checked.exit


@command(
    "gc",
    "Have the server remove what is to go: what the settings keep no longer, and bytes that nothing refers to.",
    "cableferry artifacts gc --dry-run",
)
@click.option("--dry-run", "is_rehearsal", is_flag=True, help="Only tell what would go, and why.")
@connection.options
def gc(target: Target, is_rehearsal: bool, as_json: bool) -> None:
    from cableferry.cli import checking

    with connected(target) as client:
        done = client.artifacts.collect(is_rehearsal)
    if as_json:
        output.document(done)
    else:
        checking.show(done)


@command(
    "query",
    "Run SQL over the Parquet or CSV files of an artifact, as the table `artifact`; needs cableferry[query].",
    "cableferry artifacts query 0195... 'SELECT species, count(*) FROM artifact GROUP BY 1'",
)
@_ID
@click.argument("sql")
@connection.options
def query(target: Target, id_: str, sql: str, as_json: bool) -> None:
    try:
        from cableferry.cli import querying
    except ModuleNotFoundError as error:
        raise usage("queries are run by DuckDB: install cableferry[query]") from error
    with connected(target) as client:
        result = querying.run(client.artifacts, id_, sql)
    if as_json:
        output.document([dict(zip(result.names, row, strict=True)) for row in result.rows])
    else:
        output.columns(result.names, result.rows)


artifacts = click.Group(
    "artifacts",
    commands=[put, get, ls, show, verify, rm, gc, query],
    help="Bring, fetch and look at artifacts.",
    no_args_is_help=True,
)
