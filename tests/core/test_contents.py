"""Paths, locations, and the hashes of what lies under them."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import contents
from cableferry.core.artifacts import Declared, Residence, Sum
from cableferry.core.errors import Conflict, Invalid, Kind
from tests.core.specimens import a_file, an_artifact

segments = st.text(st.characters(blacklist_categories=["Cc", "Cs"], blacklist_characters="/\U0010ffff"), min_size=1)
paths = st.lists(segments.filter(lambda text: text not in (".", "..")), min_size=1, max_size=4).map("/".join)
hashes = st.binary().map(lambda data: hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "a/b/c.txt",
        "with space",
        "#?%+&\"'",
        "back\\slash",
        "über/naïve",
        "u\u0308ber",
        "...",
        ".hidden",
        "a" * 1024,
    ],
)
def test_a_path_means_one_thing(path: str) -> None:
    assert contents.check_path(path) == path


@pytest.mark.parametrize(
    "path",
    ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "../../etc/passwd", "a/./b", "a\0b", "a\nb", "\x7f",
     "a" * 1025, "ü" * 513, "\U0010ffff", "caf\udce9"],
)  # fmt: skip
def test_another_path_is_refused(path: str) -> None:
    with pytest.raises(Invalid) as refused:
        contents.check_path(path)

    assert refused.value.kind is Kind.BAD_PATH


@pytest.mark.parametrize(
    ("residence", "url"),
    [
        (Residence.MANAGED, None),
        (Residence.POSIX, "file:///nfs/outputs/job-123"),
        (Residence.S3, "s3://data-lake/outputs/analysis.parquet"),
        (Residence.HTTP, "https://data.example.org/x"),
        (Residence.HTTP, "http://data.example.org/x"),
        (Residence.REFERENCE, None),
        (Residence.REFERENCE, "doi:10.1000/182"),
    ],
)
def test_a_location_fits_its_residence(residence: Residence, url: str | None) -> None:
    contents.check_location(residence, url)


@pytest.mark.parametrize(
    ("residence", "url"),
    [
        (Residence.MANAGED, "file:///x"),
        (Residence.POSIX, None),
        (Residence.POSIX, "file://host/x"),
        (Residence.POSIX, "/nfs/x"),
        (Residence.POSIX, "file:///nfs/../etc/passwd"),
        (Residence.POSIX, "file:///nfs/%2e%2e/etc/passwd"),
        (Residence.POSIX, "file:///nfs/\0"),
        (Residence.S3, "https://bucket/x"),
        (Residence.HTTP, "ftp://host/x"),
        (Residence.HTTP, "https://mia:secret@host/x"),
        (Residence.HTTP, "https://[host/x"),
        (Residence.HTTP, "https:///x"),
        (Residence.HTTP, "http://"),
        (Residence.HTTP, "http://host:99999/x"),
        (Residence.S3, "s3:///key"),
    ],
)
def test_another_location_is_refused(residence: Residence, url: str | None) -> None:
    with pytest.raises(Invalid) as refused:
        contents.check_location(residence, url)

    assert refused.value.kind is Kind.BAD_LOCATION


@pytest.mark.parametrize(
    ("path", "is_within"), [("/nfs", True), ("/nfs/a", True), ("/nfs2/a", False), ("/scratch/b", True), ("/", False)]
)
def test_a_path_lies_under_a_root_when_there_are_roots(path: str, is_within: bool) -> None:
    url, roots = f"file://{path}", ("/nfs", "/scratch/")

    if is_within:
        contents.check_location(Residence.POSIX, url, roots)
    else:
        with pytest.raises(Invalid, match="must lie under one of /nfs, /scratch/"):
            contents.check_location(Residence.POSIX, url, roots)


@pytest.mark.parametrize(
    ("url", "path", "expected"),
    [
        ("file:///nfs/out", "a/b", "file:///nfs/out/a/b"),
        ("file:///nfs/out/", "a", "file:///nfs/out/a"),
        ("file:///nfs/x.parquet", "x.parquet", "file:///nfs/x.parquet"),
        ("file:///nfs/out", "out", "file:///nfs/out/out"),
    ],
)
def test_a_file_is_where_its_artifact_is(url: str, path: str, expected: str) -> None:
    artifact = an_artifact(residence=Residence.POSIX, content_url=url)

    assert contents.location(artifact, path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a b/c#1.txt", "a%20b/c%231.txt"), ("100%?é", "100%25%3F%C3%A9"), ("x.parquet", "x.parquet")],
)
def test_an_address_on_the_web_holds_a_name_encoded(path: str, expected: str) -> None:
    artifact = an_artifact(residence=Residence.HTTP, content_url="https://data.example.org/out")

    assert contents.location(artifact, path) == f"https://data.example.org/out/{expected}"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://data.example.org/x.csv?key=1", "https://data.example.org/x.csv?key=1"),
        ("https://data.example.org/out?key=a/b", "https://data.example.org/out/x.csv?key=a/b"),
        ("https://data.example.org/out/?key=1", "https://data.example.org/out/x.csv?key=1"),
        ("https://data.example.org?key=1", "https://data.example.org/x.csv?key=1"),
    ],
)
def test_a_name_stands_before_the_query_of_an_address_on_the_web(url: str, expected: str) -> None:
    artifact = an_artifact(residence=Residence.HTTP, content_url=url)

    assert contents.location(artifact, "x.csv") == expected


def test_the_tree_hash_is_the_recorded_one() -> None:
    files = [("b.log", _sha256(b"content-b")), ("a.log", _sha256(b"content-a"))]

    assert contents.tree_hash(files) == "c0e263e42f78dc50f8c5ee64a4c44fc64988bf497fa31542259f173ac869f097"


@pytest.mark.parametrize(("said", "spelled"), [("AB" * 32, "ab" * 32), ("ABC123", "ABC123"), ("é" * 64, "é" * 64)])
def test_a_declared_hash_is_spelled_one_way_if_it_is_one(said: str, spelled: str) -> None:
    assert spelled == contents.spelled(said)


def test_a_single_file_has_its_own_hash() -> None:
    assert contents.tree_hash([("x", "aa")]) == "aa"


@given(st.dictionaries(paths, hashes, min_size=2))
def test_the_tree_hash_covers_sorted_paths_and_hashes(files: dict[str, str]) -> None:
    formula = "".join(f"{path}:{files[path]}" for path in sorted(files))

    assert contents.tree_hash(files.items()) == _sha256(formula.encode())


@given(paths)
def test_a_path_of_good_segments_is_taken_unless_it_is_too_long(path: str) -> None:
    if len(path.encode()) <= contents.LONGEST_PATH:
        assert contents.check_path(path) == path


def test_files_add_up() -> None:
    files = [a_file("a", "aa", 1), a_file("b", "bb", 2)]

    assert contents.add_up(files) == Sum(2, 3, _sha256(b"a:aab:bb"))
    assert contents.add_up([*files, a_file("c", None, None)]) == Sum(3, None, None)
    assert contents.add_up([]) == Sum(0, 0, None)


@pytest.mark.parametrize("declared", [Declared(), Declared("AA", 3), Declared("cc"), Declared(None, 3)])
def test_a_commit_that_says_what_is_there_is_taken(declared: Declared) -> None:
    contents.check_declared(an_artifact(), declared, Sum(2, 3, "aa"), "cc")


@pytest.mark.parametrize("declared", [Declared("bb"), Declared("aa", 4), Declared(None, 0)])
def test_a_commit_that_says_something_else_is_refused(declared: Declared) -> None:
    with pytest.raises(Conflict) as refused:
        contents.check_declared(an_artifact(), declared, Sum(2, 3, "aa"))

    assert refused.value.kind is Kind.HASH_MISMATCH


def test_what_has_no_files_is_what_its_client_says() -> None:
    contents.check_declared(an_artifact(), Declared("bb", 4), Sum(0, 0, None))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
