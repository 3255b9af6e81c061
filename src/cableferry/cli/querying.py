"""SQL over the tables in an artifact, run on this machine by DuckDB."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from cableferry.cli import fetching
from cableferry.cli.commands import usage
from cableferry.cli.exits import Exit, Failure
from cableferry.client.answers import File
from cableferry.client.artifacts import Artifacts

_READERS = {".parquet": "read_parquet", ".pq": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}
NAME = "artifact"


class Result:
    """The names of the columns, and the rows."""

    def __init__(self, names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        self.names = names
        self.rows = rows


def run(artifacts: Artifacts, id: str, statement: str) -> Result:
    """Run a statement in which the table `artifact` is all tables of the artifact together."""
    tables = [file for file in artifacts.files(id) if Path(file.path).suffix.lower() in _READERS]
    if not tables:
        raise Failure(f"artifact {id} holds no Parquet or CSV file", Exit.CONFLICT)
    if len({_READERS[Path(file.path).suffix.lower()] for file in tables}) > 1:
        raise Failure(f"artifact {id} holds tables of several formats: get the files you want", Exit.CONFLICT)
    with _brought(artifacts, id, tables) as paths, duckdb.connect() as database:
        reader = getattr(database, _READERS[Path(paths[0]).suffix.lower()])
        reader(paths).create_view(NAME)
        try:
            found = database.execute(statement)
        except duckdb.Error as error:
            raise usage(str(error)) from error
        return Result([column[0] for column in found.description or ()], found.fetchall())


@contextmanager
def _brought(artifacts: Artifacts, id: str, tables: Sequence[File]) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory(prefix="cableferry-") as folder:
        fetching.fetch(artifacts, id, tables, Path(folder), 4, lambda moved: None)
        yield [str(Path(folder, file.path)) for file in tables]
