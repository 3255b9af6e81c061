"""Artifacts on the wire: which ids a job names, what metadata may be, and the words for stages."""

import msgspec
import pytest
from msgspec import Raw

from cableferry.core.artifacts import Residence, Role, Stage
from cableferry.core.errors import Invalid
from cableferry.wire.emx2 import artifacts, words
from tests.core.specimens import a_file, an_artifact

A = "550e8400-e29b-41d4-a716-446655440000"
B = "0190a0b0-0000-7000-8000-000000000000"
LINKS = {
    "CREATED": {"self", "upload", "upload_legacy", "files"},
    "UPLOADING": {"self", "upload", "upload_legacy", "files", "commit"},
    "REGISTERED": {"self", "commit", "files"},
    "COMMITTED": {"self", "download", "files"},
    "FAILED": {"self", "files"},
}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, ()),
        ([A, B, A], (A, B)),
        ([A.upper()], (A,)),
        (["corpus-01"], ()),
        ({"dataset": "corpus-01"}, ()),
        ([{"artifact_id": A}], (A,)),
        ([{"artifact_id": A, "name": B}], (A,)),
        ([{"left": A, "right": B}], (A, B)),
        ({"dataset": A, "models": [B]}, (A, B)),
        ({"dataset": {"artifact_id": A}}, (A,)),
        ([{"artifact_id": 7, "size": 3}], ()),
    ],
)
def test_a_job_names_its_inputs_in_any_shape(said: object, expected: tuple[str, ...]) -> None:
    assert artifacts.references(Raw(msgspec.json.encode(said))) == expected


def test_no_inputs_name_nothing() -> None:
    assert artifacts.references(Raw(b"")) == ()


@pytest.mark.parametrize(
    ("raw", "kept", "job"),
    [
        (b"", b"null", None),
        (b"null", b"null", None),
        (b'{"job_id": "j1", "x": 1.50}', b'{"job_id": "j1", "x": 1.50}', "j1"),
        (b'{"job_id": 7}', b'{"job_id": 7}', None),
        (b'{"job_id": ""}', b'{"job_id": ""}', None),
    ],
)
def test_metadata_is_kept_as_it_came(raw: bytes, kept: bytes, job: str | None) -> None:
    stored, named = artifacts.metadata(Raw(raw))

    assert (bytes(stored), named) == (kept, job)


@pytest.mark.parametrize("raw", [b"[]", b'"x"', b"7", b"[" * 100 + b"]" * 100])
def test_other_metadata_is_refused(raw: bytes) -> None:
    with pytest.raises(Invalid):
        artifacts.metadata(Raw(raw))


@pytest.mark.parametrize("stage", Stage)
def test_each_stage_has_a_word_and_exactly_its_links(stage: Stage) -> None:
    shown = artifacts.artifact(an_artifact(stage), "seed")

    assert words.stage(shown.status) is stage
    assert set(shown.links) == LINKS[shown.status]
    assert set(artifacts.artifact(an_artifact(stage), "latest").links) == LINKS[shown.status] - {"upload_legacy"}


def test_unknown_words_are_refused_with_the_known_ones() -> None:
    for reading, word in ((words.stage, "DONE"), (artifacts.residence, "cloud"), (artifacts.role, "main")):
        with pytest.raises(Invalid, match="use one of"):
            reading(word)


def test_words_are_read_in_any_case_where_clients_write_them_so() -> None:
    assert artifacts.residence("POSIX") is Residence.POSIX
    assert artifacts.role("Primary") is Role.PRIMARY
    assert artifacts.role(None) is None


def test_a_file_links_to_its_content_whatever_its_name() -> None:
    item = artifacts.file_item("a7", a_file("a b/#?%+ü"))

    assert item.links["content"].href == "/api/hpc/artifacts/a7/files/a%20b/%23%3F%25%2B%C3%BC"
