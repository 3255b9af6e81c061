"""A download has its name, whatever is in it."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.dialects import dispositions

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1)


def test_a_plain_name_stands_there_as_it_is() -> None:
    expected = "attachment; filename=\"data.parquet\"; filename*=UTF-8''data.parquet"

    assert dispositions.attachment("tables/data.parquet") == expected


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("café.csv", "caf_.csv"),
        ('a "b".csv', "a _b_.csv"),
        ("a\\b.csv", "a_b.csv"),
        ("100%.csv", "100%.csv"),
        ("a%20b.csv", "a_20b.csv"),
        ("💾", "_"),
    ],
)
def test_old_clients_get_a_name_that_they_cannot_misread(name: str, plain: str) -> None:
    assert f'filename="{plain}"' in dispositions.attachment(name)


@given(NAMES)
def test_every_name_comes_back_from_its_header(name: str) -> None:
    header = dispositions.attachment(f"some/folder/{name}")

    assert header.isascii()
    assert header.isprintable()
    assert unquote(header.rpartition("UTF-8''")[2], errors="strict") == name
