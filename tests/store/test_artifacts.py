"""Rows of artifacts, files and blobs on both databases."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from cableferry.core.artifacts import (
    Artifact,
    Description,
    Draft,
    File,
    Filter,
    Outcome,
    Residence,
    Role,
    Stage,
    Use,
    committed,
)
from cableferry.core.paging import Page
from cableferry.store import artifacts, files
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import Store, Tx, statement
from tests.store import rows

DEAD = statement("dead", "SELECT place FROM dead_places ORDER BY place")
JOB_KEY = statement("job_key", "SELECT key FROM jobs WHERE id = ?")


def add(store: Store, id: str, **said: object) -> Artifact:
    return store.write(lambda tx: artifacts.add(tx, id, Draft(**said)))


def put(store: Store, artifact: Artifact, path: str, seq: int = 1, blob: int | None = None) -> File:
    said = Description(path, Role.PRIMARY, "text/plain")
    file = files.new(artifact.key, f"id-{path}-{seq}", said, seq, artifact.created_at)
    return store.write(lambda tx: files.put(tx, replace(file, sha256="aa", size_bytes=3, blob_key=blob)))


def test_an_artifact_is_read_as_it_was_written(store: Store) -> None:
    added = add(
        store, "a1", type="tabular", format="parquet", residence=Residence.S3, name="n", content_url="s3://b/k",
        job_id="j1", created_by="user:mia",
    )  # fmt: skip

    assert store.read(lambda tx: artifacts.get(tx, "a1")) == added
    assert store.write(lambda tx: artifacts.lock(tx, "a1")) == added
    assert store.read(lambda tx: artifacts.get(tx, "a2")) is None


def test_a_change_is_written_only_on_what_was_read(store: Store) -> None:
    before = add(store, "a1")
    after = committed(before, Outcome("aa", "bb", 3, None, "why"), before.created_at + timedelta(seconds=1))

    assert store.write(lambda tx: artifacts.save(tx, before, after)) == 1
    assert store.write(lambda tx: artifacts.save(tx, before, after)) == 0
    assert store.read(lambda tx: artifacts.get(tx, "a1")) == after


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(), ["a1", "a2", "a3"]),
        (Filter(type="log"), ["a2"]),
        (Filter(format="csv"), ["a1"]),
        (Filter(stage=Stage.REGISTERED), ["a3"]),
        (Filter(residence=Residence.POSIX), ["a3"]),
        (Filter(name="Output_1"), ["a1"]),
        (Filter(job_id="j1"), ["a1", "a2"]),
        (Filter(job_id="j1", type="log"), ["a2"]),
        (Filter(name="Output_1", job_id="j2"), []),
        (Filter(search="OUTPUT_"), ["a1"]),
        (Filter(search="%"), []),
        (Filter(search="a3"), ["a3"]),
    ],
)
def test_a_list_holds_what_was_asked_for(store: Store, wanted: Filter, expected: list[str]) -> None:
    add(store, "a1", format="csv", name="Output_1", job_id="j1")
    add(store, "a2", type="log", name="Outputx", job_id="j1")
    add(store, "a3", residence=Residence.POSIX, content_url="file:///x")

    found = store.read(lambda tx: artifacts.find(tx, wanted, Page()))
    newest = store.read(lambda tx: artifacts.find(tx, wanted, Page(limit=1), newest_first=True))

    assert [artifact.id for artifact in found] == expected
    assert [artifact.id for artifact in newest] == expected[-1:]
    assert store.read(lambda tx: artifacts.count(tx, wanted)) == len(expected)


def test_the_newest_committed_artifact_has_the_name(store: Store) -> None:
    for named in ("a1", "a2", "a3"):
        add(store, named, name="model")
    for named in ("a1", "a2"):
        store.write(lambda tx, named=named: _commit(tx, named))

    assert store.read(lambda tx: artifacts.newest_named(tx, "model")).id == "a2"
    assert store.read(lambda tx: artifacts.newest_named(tx, "other")) is None


def test_files_come_in_the_order_of_their_bytes(store: Store) -> None:
    artifact = add(store, "a1")
    paths = ["b", "a/x", "a", "a/\u00fc", "a/u\u0308", "A", "a-b"]
    for path in paths:
        put(store, artifact, path)

    def listed(prefix: str, page: Page) -> list[str]:
        return [file.path for file in store.read(lambda tx: files.page(tx, artifact.key, prefix, page))]

    ordered = sorted(paths)
    assert listed("", Page()) == ordered == [f.path for f in store.read(lambda tx: files.of_artifact(tx, artifact.key))]
    assert listed("a/", Page()) == [path for path in ordered if path.startswith("a/")]
    assert listed("", Page(limit=2, offset=1)) == ordered[1:3]
    assert listed("", Page(limit=2, after=ordered[2])) == ordered[3:5]
    assert store.read(lambda tx: files.count(tx, artifact.key)) == len(paths)
    assert store.read(lambda tx: files.count(tx, artifact.key, "a/")) == 3


def test_a_file_put_again_keeps_its_id(store: Store) -> None:
    artifact = add(store, "a1")
    first = put(store, artifact, "x")

    second = put(store, artifact, "x", seq=2)

    assert (second.key, second.id, second.seq) == (first.key, first.id, 2)
    assert store.read(lambda tx: files.get(tx, artifact.key, "x")) == second


def test_the_same_bytes_are_kept_once(store: Store) -> None:
    first = store.write(lambda tx: files.keep_blob(tx, Blob("aa", 3, (Piece("p1", 2), Piece("p2", 1)))))
    second = store.write(lambda tx: files.keep_blob(tx, Blob("aa", 3, (Piece("p3", 3),))))

    assert first == second
    assert store.read(lambda tx: files.pieces(tx, first)) == (Piece("p1", 2), Piece("p2", 1))
    assert store.read(lambda tx: tx.all(DEAD)) == [("p3",)]


def test_files_go_with_their_artifact_and_blobs_stay(store: Store) -> None:
    artifact = add(store, "a1")
    blob = store.write(lambda tx: files.keep_blob(tx, Blob("aa", 3, (Piece("p1", 3),))))
    put(store, artifact, "x", blob=blob)

    store.write(lambda tx: artifacts.delete(tx, artifact))

    assert store.read(lambda tx: files.of_artifact(tx, artifact.key)) == []
    assert store.read(lambda tx: files.pieces(tx, blob)) == (Piece("p1", 3),)


def test_only_unfinished_jobs_use_an_artifact(store: Store) -> None:
    artifact = add(store, "a1")
    for job, state in (("j1", "ready"), ("j2", "failed"), ("j3", "running")):
        store.write(lambda tx, job=job, state=state: _use(tx, job, state))

    assert store.read(lambda tx: artifacts.unfinished_users(tx, artifact, Use.INPUT)) == ["j1", "j3"]
    assert store.read(lambda tx: artifacts.unfinished_users(tx, artifact, Use.LOG)) == []


def _use(tx: Tx, id: str, state: str) -> None:
    rows.add_job(tx, id, state)
    key = tx.one(JOB_KEY, (id,))[0]
    artifacts.use(tx, key, Use.INPUT, ["a1"])
    artifacts.use(tx, key, Use.INPUT, ["a1"])


def _commit(tx: Tx, id: str) -> None:
    artifact = artifacts.lock(tx, id)
    artifacts.save(tx, artifact, committed(artifact, Outcome("aa"), tx.now))
