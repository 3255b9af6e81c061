"""What a bucket shows, against artifacts that were made the usual way."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cableferry.core import buckets as keys
from cableferry.core.access import Claimant
from cableferry.core.artifacts import Artifact, Declared, Description, Draft, Examined, Outcome, Residence
from cableferry.core.buckets import Bucket, Contents, Key, Wanted
from cableferry.core.errors import Kind, NotFound
from cableferry.engine import artifacts, buckets, files
from cableferry.store.files import Blob, Piece
from tests.engine.world import World

WORKER = Claimant("w1", "credential")


def _artifact(world: World, *paths: str, name: str | None = None, is_committed: bool = True) -> Artifact:
    artifact = world.write(artifacts.create, Draft(name=name, created_by=WORKER.actor))
    for path in paths:
        blob = Blob(f"{name}{path}", len(path), (Piece(f"{artifact.id}/{path}", len(path)),))
        world.write(files.attach, artifact.id, Description(path), blob, WORKER)
    if is_committed and paths:
        revision = world.read(artifacts.get, artifact.id).revision
        world.write(artifacts.commit, artifact.id, WORKER, Declared(), Examined(revision, Outcome()))
    return artifact


def _texts(found: Contents) -> list[str]:
    return [*found.prefixes, *(item.key for item in found.items)]


def _list(world: World, bucket: Bucket, **wanted: object) -> list[str]:
    return _texts(world.read(buckets.contents, bucket, Wanted(**wanted)))


def test_the_artifacts_show_their_files_by_id(world: World) -> None:
    first, second = _artifact(world, "b", "a/x"), _artifact(world, "c", is_committed=False)
    heads = sorted([f"{first.id}/", f"{second.id}/"])

    assert sorted([f"{first.id}/a/x", f"{first.id}/b", f"{second.id}/c"]) == _list(world, Bucket.ARTIFACTS)
    assert heads == _list(world, Bucket.ARTIFACTS, delimiter="/")
    assert [f"{first.id}/a/", f"{first.id}/b"] == _list(world, Bucket.ARTIFACTS, delimiter="/", prefix=f"{first.id}/")
    assert [f"{first.id}/b"] == _list(world, Bucket.ARTIFACTS, after=f"{first.id}/a/x", most=1)
    assert heads[1:] == _list(world, Bucket.ARTIFACTS, after=heads[0], delimiter="/")


def test_the_names_show_what_was_committed_last(world: World) -> None:
    _artifact(world, "old", name="run")
    _artifact(world, "new", name="run")
    _artifact(world, "open", name="run", is_committed=False)
    _artifact(world, "x", name="in/a folder")
    _artifact(world, "x")

    assert ["run/new"] == _list(world, Bucket.NAMES)
    assert ["run/"] == _list(world, Bucket.NAMES, delimiter="/")


def test_keys_come_in_the_order_of_their_bytes_not_of_their_names(world: World) -> None:
    for name in ("run", "run 2", "run-2", "run2", "r\u00fcn", "\U0001f600", "\uff01"):
        _artifact(world, "x", name=name)

    assert ["run 2/x", "run-2/x", "run/x", "run2/x", "r\u00fcn/x", "\uff01/x", "\U0001f600/x"] == _list(
        world, Bucket.NAMES
    )


def test_what_is_only_declared_or_lies_elsewhere_is_not_shown(world: World) -> None:
    elsewhere = Draft(residence=Residence.POSIX, content_url="file:///x", name="run", created_by=WORKER.actor)
    for draft in (elsewhere, Draft(created_by=WORKER.actor)):
        artifact = world.write(artifacts.create, draft)
        world.write(files.declare, artifact.id, Description("x"), Declared("aa", 3), WORKER)

    assert [] == _list(world, Bucket.ARTIFACTS)
    assert [] == _list(world, Bucket.ARTIFACTS, delimiter="/")
    assert [] == _list(world, Bucket.ARTIFACTS, prefix=f"{artifact.id}/")


@pytest.mark.parametrize("prefix", ["nowhere/", "0", "z"])
def test_where_nothing_is_nothing_is_shown(world: World, prefix: str) -> None:
    _artifact(world, "x", name="run")

    assert [] == _list(world, Bucket.NAMES, prefix=prefix)
    assert [] == _list(world, Bucket.NAMES, prefix=prefix, delimiter="/")


def test_a_key_leads_to_its_file_and_its_bytes(world: World) -> None:
    artifact = _artifact(world, "a/x", name="run")
    by_id, pieces = world.read(buckets.get, Bucket.ARTIFACTS, Key(artifact.id, "a/x"))
    by_name, _ = world.read(buckets.get, Bucket.NAMES, Key("run", "a/x"))

    assert "a/x" == by_id.path
    assert by_id == by_name
    assert (Piece(f"{artifact.id}/a/x", 3),) == pieces


@pytest.mark.parametrize("key", ["run/y", "walk/x", "run/X", "run/x/", "run/./x"])
def test_another_key_leads_nowhere(world: World, key: str) -> None:
    _artifact(world, "x", name="run")

    with pytest.raises(NotFound) as refused:
        world.read(buckets.get, Bucket.NAMES, keys.key(key))

    assert Kind.UNKNOWN_FILE is refused.value.kind


SEGMENT = st.text("ab- \u00e9", min_size=1, max_size=2)
PATHS = st.lists(st.lists(SEGMENT, min_size=1, max_size=3).map("/".join), max_size=6, unique=True)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    made=st.lists(st.tuples(st.one_of(st.none(), SEGMENT), PATHS), max_size=5),
    delimiter=st.sampled_from(["", "/", "a", "-"]),
    cut=st.integers(0, 3),
    most=st.integers(1, 5),
)
def test_the_pages_show_each_key_once_and_in_order(
    world: World, made: list[tuple[str | None, list[str]]], delimiter: str, cut: int, most: int
) -> None:
    """Names and artifacts pile up over the examples; each one looks at those of its own and of all before."""
    for name, paths in made:
        _artifact(world, *paths, name=name)
    everything = _list(world, Bucket.NAMES, most=100_000)
    prefix = everything[len(everything) // 2][:cut] if everything else ""
    shown, wanted = [], Wanted(prefix, delimiter, most=most)
    while True:
        page = world.read(buckets.contents, Bucket.NAMES, wanted)
        shown += sorted(_texts(page))
        if page.last is None:
            break
        wanted = Wanted(prefix, delimiter, page.last, most)

    ends = [key.find(delimiter, len(prefix)) if delimiter else -1 for key in everything]
    folded = [key if end < 0 else key[: end + 1] for key, end in zip(everything, ends, strict=True)]
    assert sorted(everything) == everything
    assert list(dict.fromkeys(text for text in folded if text.startswith(prefix))) == shown
