"""What a file's name says of its bytes."""

import pytest

from cableferry.core import media


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("data.parquet", "application/vnd.apache.parquet"),
        ("a/b/DATA.CSV", "text/csv"),
        ("slurm-1.out", "text/plain"),
        ("x.tar.gz", "application/gzip"),
        ("model.gguf", "application/octet-stream"),
        ("x.unheard-of", None),
        ("noending", None),
        (".hidden", None),
        ("a.csv/plain", None),
        ("x.", None),
    ],
)
def test_a_name_stands_for_a_media_type(path: str, expected: str | None) -> None:
    assert media.of_path(path) == expected


def test_the_name_comes_before_what_the_sender_says() -> None:
    assert media.of_file("x.csv", "text/html") == "text/csv"
    assert media.of_file("x", "text/html") == "text/html"
    assert media.of_file("x", None) == "application/octet-stream"


def test_every_suffix_stands_for_a_known_format() -> None:
    assert set(media._SUFFIXES.values()) <= set(media.FORMATS)
