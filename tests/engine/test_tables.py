"""What a commit finds out about the table in an artifact."""

from io import BytesIO
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from cableferry.core.artifacts import Artifact, Declared, Description, Draft, Outcome, Residence, Role
from cableferry.core.schemas import Schema
from cableferry.engine import artifacts, commits, files
from cableferry.engine.outside import Looking
from cableferry.engine.reading import Depot
from cableferry.store.elsewhere.looking import Elsewhere
from cableferry.store.elsewhere.posix import PosixFiles
from tests.engine.bytes import bring
from tests.engine.world import MANAGER, World

CSV = b"species,count\nfinch,3\nwren,\n"


def parquet() -> bytes:
    out = BytesIO()
    pq.write_table(pa.table({"x": [1, 2, 3], "y": ["a", None, "c"]}), out, row_group_size=2)
    return out.getvalue()


def create(world: World, **said: object) -> Artifact:
    return world.write(artifacts.create, Draft(**said))


def examined(depot: Depot, artifact: Artifact) -> Outcome:
    return commits.examine(depot, artifact.id, MANAGER, Declared()).outcome


def schema(outcome: Outcome) -> Schema:
    assert outcome.schema_error is None
    return msgspec.json.decode(bytes(outcome.table_schema or b""), type=Schema)


def columns(found: Schema) -> list[tuple[str, bool]]:
    return [(column.name, column.nullable) for column in found.columns]


def test_a_parquet_file_is_described_across_its_pieces(world: World, depot: Depot) -> None:
    artifact, content = create(world, type="tabular", format="parquet"), parquet()
    bring(world, depot, artifact, "data", content[:100], content[100:-7], content[-7:])

    found = schema(examined(depot, artifact))

    assert (found.format, found.rows, found.row_groups) == ("parquet", 3, 2)
    assert columns(found) == [("x", True), ("y", True)]


def test_a_csv_file_is_described_by_its_name_alone(world: World, depot: Depot) -> None:
    artifact = create(world)
    bring(world, depot, artifact, "birds.CSV", CSV[:9], CSV[9:])

    found = schema(examined(depot, artifact))

    assert (found.format, found.rows, columns(found)) == ("csv", 2, [("species", False), ("count", True)])


def test_the_primary_file_is_the_table(world: World, depot: Depot) -> None:
    artifact = create(world, format="csv")
    bring(world, depot, artifact, "a.csv", b"other\n1\n")
    bring(world, depot, artifact, "b.csv", CSV, role=Role.PRIMARY)

    assert schema(examined(depot, artifact)).rows == 2


def test_the_first_table_by_name_is_the_table(world: World, depot: Depot) -> None:
    artifact = create(world, type="dataset")
    bring(world, depot, artifact, "readme.md", b"# birds")
    bring(world, depot, artifact, "z.csv", CSV)

    assert schema(examined(depot, artifact)).rows == 2


@pytest.mark.parametrize("path", ["model.bin", "notes"])
def test_what_is_no_table_has_no_schema(world: World, depot: Depot, path: str) -> None:
    artifact = create(world, type="model")
    bring(world, depot, artifact, path, b"bytes")

    assert examined(depot, artifact).table_schema is examined(depot, artifact).schema_error is None


def test_a_readme_as_primary_file_is_no_table(world: World, depot: Depot) -> None:
    artifact = create(world)
    bring(world, depot, artifact, "readme.md", b"# birds", role=Role.PRIMARY)
    bring(world, depot, artifact, "a.csv", CSV)

    assert examined(depot, artifact).table_schema is None


@pytest.mark.parametrize(
    ("format", "content", "said"),
    [("parquet", b"PAR1 but no footer", "does not end as Parquet"), ("csv", b"a,b\n1,2,3\n\xff", "x: ")],
)
def test_a_table_that_is_none_is_committed_with_the_reason(
    world: World, depot: Depot, format: str, content: bytes, said: str
) -> None:
    artifact = create(world, format=format)
    bring(world, depot, artifact, "x", content)

    outcome = examined(depot, artifact)

    assert said in (outcome.schema_error or "")
    assert (outcome.table_schema, outcome.failure, outcome.size_bytes) == (None, None, len(content))


def test_a_text_is_not_read_without_end(world: World, depot: Depot) -> None:
    artifact = create(world, format="csv")
    bring(world, depot, artifact, "x", CSV)

    outcome = examined(replace(depot, schema_limit_bytes=len(CSV) - 1), artifact)

    assert "larger than the" in (outcome.schema_error or "")


def test_bytes_that_are_gone_are_told(world: World, depot: Depot) -> None:
    artifact = create(world, format="csv")
    bring(world, depot, artifact, "x", CSV)
    (piece,) = world.read(files.get, artifact.id, "x").pieces
    depot.blobs.path(piece.place).unlink()

    assert "cannot be read" in (examined(depot, artifact).schema_error or "")


def test_a_declared_table_is_not_described(world: World, depot: Depot) -> None:
    artifact = create(world, format="csv")
    world.write(files.declare, artifact.id, Description("x"), Declared("abc", 3), MANAGER)

    assert examined(depot, artifact).table_schema is None


@pytest.mark.parametrize(("name", "content"), [("x.csv", CSV), ("x.parquet", parquet())])
@pytest.mark.parametrize("is_seen", [True, False])
def test_a_table_elsewhere_is_described_where_the_server_may_look(
    world: World, depot: Depot, tmp_path: Path, name: str, content: bytes, is_seen: bool
) -> None:
    (tmp_path / name).write_bytes(content)
    roots = [tmp_path] if is_seen else []
    seeing = replace(depot, looking=Looking(Elsewhere({"file": PosixFiles(roots)}), 10**6))
    artifact = create(world, residence=Residence.POSIX, content_url=f"file://{tmp_path}")
    world.write(files.declare, artifact.id, Description(name), Declared(None, len(content)), MANAGER)

    outcome = examined(seeing, artifact)

    assert (outcome.table_schema is not None) == is_seen
    assert outcome.schema_error is None


def test_a_location_that_names_a_table_is_described(world: World, depot: Depot, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(parquet())
    seeing = replace(depot, looking=Looking(Elsewhere({"file": PosixFiles([tmp_path])}), 10**6))
    artifact = create(world, residence=Residence.POSIX, content_url=f"file://{tmp_path}/x.parquet")

    assert schema(examined(seeing, artifact)).rows == 3
