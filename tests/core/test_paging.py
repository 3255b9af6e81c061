"""Where a page may begin and how long it may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import paging
from cableferry.core.errors import Invalid
from cableferry.core.paging import DEFAULT, MOST, Page


@pytest.mark.parametrize(
    ("limit", "offset", "expected"),
    [
        pytest.param(None, None, Page(DEFAULT, 0), id="nothing said gives the usual page"),
        pytest.param(1, 0, Page(1, 0), id="the smallest page has one row"),
        pytest.param(MOST, 7, Page(MOST, 7), id="the largest page is given whole"),
        pytest.param(MOST + 1, 7, Page(MOST, 7), id="more than the most is the most"),
        pytest.param(10**30, 2**53, Page(MOST, 2**53), id="absurd limits are the most too"),
    ],
)
def test_a_page_lies_within_bounds(limit: int | None, offset: int | None, expected: Page) -> None:
    assert expected == paging.page(limit, offset)


@pytest.mark.parametrize(
    ("limit", "offset", "word"),
    [(0, 0, "limit"), (-1, 0, "limit"), (1, -1, "offset"), (1, 2**53 + 1, "offset")],
)
def test_a_page_out_of_bounds_is_refused_with_the_name_of_what_is_wrong(limit: int, offset: int, word: str) -> None:
    with pytest.raises(Invalid, match=word):
        paging.page(limit, offset)


def test_a_page_begins_behind_its_cursor() -> None:
    assert "j17" == paging.page(5, None, "j17").after


@given(st.integers(), st.integers())
def test_a_page_is_refused_or_fits_the_database(limit: int, offset: int) -> None:
    try:
        page = paging.page(limit, offset)
    except Invalid:
        return

    assert 1 <= page.limit <= MOST
    assert 0 <= page.offset <= 2**53
