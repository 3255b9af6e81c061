"""Clients that know nothing of us, as people use them: each reads and writes, and fetches no more than it needs."""

import io
from collections.abc import Callable
from typing import Any

import duckdb
import obstore
import polars
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from obstore.store import S3Store

from tests.dialects.s3.gateway import BUCKET, Desk

ROWS = 200_000
COLUMNS = [f"c{number}" for number in range(16)]
# a footer and one column of sixteen
LITTLE = 0.25


def _parquet() -> bytes:
    """Sixteen columns of integers that do not compress, in four row groups."""
    numbers = pa.array(range(ROWS), pa.int64())
    table = pa.table({name: pa.compute.multiply(numbers, 7919 + index) for index, name in enumerate(COLUMNS)})
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=ROWS // 4, use_dictionary=False, compression="none")
    return file.getvalue()


CONTENT = _parquet()


@pytest.fixture
def table(desk: Desk) -> Desk:
    """A desk with a committed artifact that has the table under its name."""
    artifact = desk.gateway.artifact(desk.person, name=f"table of {desk.person.name}")
    desk.boto.put_object(Bucket=BUCKET, Key=f"{artifact}/part/t.parquet", Body=CONTENT)
    desk.gateway.commit(artifact)
    return desk._replace(id=f"table of {desk.person.name}")


def _sent(desk: Desk, work: Callable[[], Any]) -> tuple[Any, int]:
    """What came of it, and how many bytes the server sent for it, by its own log."""
    before = desk.boto.list_buckets()["ResponseMetadata"]["RequestId"]
    value = work()
    after = desk.boto.list_buckets()["ResponseMetadata"]["RequestId"]
    desk.gateway.said(after)
    lines = desk.gateway.answers()
    traces = [line["trace"] for line in lines]
    during = lines[traces.index(before) + 1 : traces.index(after)]
    return value, sum(line["bytes_out"] for line in during if line["method"] == "GET")


def _sum(column: int) -> int:
    return sum(range(ROWS)) * (7919 + column)


def _arrow(desk: Desk, **more: Any) -> pafs.S3FileSystem:
    return pafs.S3FileSystem(
        access_key=desk.issued.key.id,
        secret_key=desk.issued.secret,
        endpoint_override=f"127.0.0.1:{desk.gateway.port}/s3",
        scheme="http",
        region="us-east-1",
        **more,
    )


def _obstore(desk: Desk, bucket: str = BUCKET) -> S3Store:
    return S3Store(
        bucket,
        endpoint=desk.gateway.address,
        access_key_id=desk.issued.key.id,
        secret_access_key=desk.issued.secret,
        region="us-east-1",
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )


def test_polars_reads_a_column_by_ranges(table: Desk) -> None:
    options = {
        "aws_endpoint_url": table.gateway.address,
        "aws_access_key_id": table.issued.key.id,
        "aws_secret_access_key": table.issued.secret,
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }
    where = f"s3://names/{table.id}/part/t.parquet"

    def read() -> polars.DataFrame:
        return polars.scan_parquet(where, storage_options=options).select("c3").collect()

    frame, sent = _sent(table, read)

    assert _sum(3) == frame["c3"].sum()
    assert sent < LITTLE * len(CONTENT)


def test_pyarrow_reads_a_column_by_ranges(table: Desk) -> None:
    files = _arrow(table)

    def read() -> pa.Table:
        return pq.read_table(f"names/{table.id}/part/t.parquet", columns=["c5"], filesystem=files, pre_buffer=False)

    found, sent = _sent(table, read)

    assert _sum(5) == pa.compute.sum(found["c5"]).as_py()
    assert sent < LITTLE * len(CONTENT)


def test_duckdb_queries_what_pyarrow_opens(table: Desk) -> None:
    """DuckDB's own S3 client is an extension that it fetches from the web; through Arrow it needs none."""

    def query() -> Any:
        events = ds.dataset(f"names/{table.id}/part", filesystem=_arrow(table), format="parquet")
        with duckdb.connect() as connection:
            connection.register("events", events)
            return connection.execute("SELECT sum(c7), count(*) FROM events WHERE c7 > 0").fetchall()

    found, sent = _sent(table, query)

    assert [(_sum(7), ROWS - 1)] == found
    assert sent < LITTLE * len(CONTENT)


def test_pyarrow_lists_writes_copies_and_removes(desk: Desk) -> None:
    files = _arrow(desk)
    home = f"{BUCKET}/{desk.id}"
    with files.open_output_stream(f"{home}/a/one.txt", metadata={"Content-Type": "text/x-own"}) as out:
        out.write(b"one")
    files.copy_file(f"{home}/a/one.txt", f"{home}/a/b c/two.txt")
    files.move(f"{home}/a/one.txt", f"{home}/three.txt")
    listed = files.get_file_info(pafs.FileSelector(home, recursive=True))
    with files.open_input_file(f"{home}/three.txt") as file:
        file.seek(1)
        rest = file.read()
    files.delete_file(f"{home}/three.txt")

    assert [("a", False), ("a/b c", False), ("a/b c/two.txt", True), ("three.txt", True)] == sorted(
        (info.path.removeprefix(f"{home}/"), info.is_file) for info in listed
    )
    assert b"ne" == rest
    assert pafs.FileType.NotFound == files.get_file_info(f"{home}/three.txt").type


def test_pyarrow_writes_a_dataset_in_parts(desk: Desk) -> None:
    home = f"{BUCKET}/{desk.id}/data"
    rows = pa.table({"day": ["mon", "tue"] * 4, "value": range(8)})
    ds.write_dataset(rows, home, filesystem=_arrow(desk), format="parquet", partitioning=["day"])

    read = ds.dataset(home, filesystem=_arrow(desk), format="parquet", partitioning=["day"]).to_table()

    assert 28 == pa.compute.sum(read["value"]).as_py()


def test_obstore_reads_and_writes(desk: Desk) -> None:
    store = _obstore(desk)
    large = bytes(range(256)) * 30_000
    path = desk.key("a b/ü#%.bin")
    obstore.put(store, path, large, chunk_size=5 * 1024 * 1024)
    meta = obstore.head(store, path)
    [listed] = obstore.list(store, prefix=desk.id).collect()
    part = bytes(obstore.get_range(store, path, start=255, end=258))
    parts = [bytes(each) for each in obstore.get_ranges(store, path, starts=[0, 1000], ends=[2, 1003])]
    obstore.copy(store, path, desk.key("copy"))
    obstore.delete(store, path)

    assert (len(large), listed["e_tag"]) == (meta["size"], meta["e_tag"])
    assert (b"\xff\0\1", [b"\0\1", large[1000:1003]]) == (part, parts)
    assert large == bytes(obstore.get(store, desk.key("copy")).bytes())
    assert [desk.key("copy")] == [each["path"] for each in obstore.list(store, prefix=desk.id).collect()]


def test_obstore_creates_only_what_is_new(desk: Desk) -> None:
    store = _obstore(desk)
    obstore.put(store, desk.key("x"), b"first", mode="create")

    with pytest.raises(obstore.exceptions.AlreadyExistsError):
        obstore.put(store, desk.key("x"), b"second", mode="create")


def test_obstore_lists_folder_by_folder(desk: Desk) -> None:
    store = _obstore(desk)
    for path in ("a/1", "a/2", "b/c/3", "top"):
        desk.put(path, b"x")
    found = obstore.list_with_delimiter(store, prefix=desk.id)

    assert [desk.key("a"), desk.key("b")] == sorted(found["common_prefixes"])
    assert [desk.key("top")] == [each["path"] for each in found["objects"]]


def test_a_list_of_many_pages_is_whole(desk: Desk) -> None:
    paths = [f"{number:04}/x" for number in range(60)]
    for path in paths:
        desk.put(path, b"")
    pages = desk.boto.get_paginator("list_objects_v2").paginate(
        Bucket=BUCKET, Prefix=desk.key(""), Delimiter="/", PaginationConfig={"PageSize": 7}
    )
    first = desk.boto.get_paginator("list_objects").paginate(
        Bucket=BUCKET, Prefix=desk.key(""), PaginationConfig={"PageSize": 7}
    )

    assert [desk.key(path[:5]) for path in paths] == [
        each["Prefix"] for page in pages for each in page["CommonPrefixes"]
    ]
    assert [desk.key(path) for path in paths] == [each["Key"] for page in first for each in page["Contents"]]
