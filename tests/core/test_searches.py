"""Cursors: a place goes out as a text and comes back, and nothing else does."""

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import searches
from cableferry.core.errors import Invalid

places = st.lists(st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8")), max_size=3).map(tuple)


@given(place=places)
def test_a_place_comes_back_from_its_cursor(place: searches.Place) -> None:
    assert place == searches.behind(searches.cursor("name", place), "name")


def test_a_cursor_of_another_order_is_refused() -> None:
    with pytest.raises(Invalid, match="a cursor of the order name, and this list is in the order created_at"):
        searches.behind(searches.cursor("name", ("x", 1)), "created_at")


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "é", "#", searches.cursor("name", ("x",))[:-1], base64.b64encode(b"[1]").decode(),
        base64.b64encode(b'["name", [1.5]]').decode(), base64.b64encode(b"\xff").decode(),
        searches.cursor("name", ("x" * 5000,)),
    ],
)  # fmt: skip
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="after must hold the cursor of a row"):
        searches.behind(text, "name")


@given(text=st.text(max_size=50) | st.binary(max_size=40).map(lambda data: base64.urlsafe_b64encode(data).decode()))
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    with contextlib.suppress(Invalid):
        assert isinstance(searches.behind(text, "name"), tuple)
