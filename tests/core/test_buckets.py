"""Keys and pages of keys, against a listing that looks at everything."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import buckets
from cableferry.core.buckets import Contents, Key, Shown, Source, Wanted
from cableferry.core.errors import Invalid

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEGMENT = st.text("ab-./é", min_size=1, max_size=3).filter(lambda text: text.strip("/") == text)
KEYS = st.lists(st.lists(SEGMENT, min_size=2, max_size=4).map("/".join), max_size=40, unique=True)


def _shown(key: str) -> Shown:
    return Shown(key, 1, "aa", NOW)


def _source(keys: Sequence[str], prefix: str) -> Source:
    fitting = sorted(key for key in keys if key.startswith(prefix))

    def source(after: str, limit: int) -> list[Shown]:
        return [_shown(key) for key in fitting if key > after][:limit]

    return source


def _all(keys: Sequence[str], prefix: str, delimiter: str) -> list[str]:
    """What every page together must show, in order."""
    fitting = sorted(key for key in keys if key.startswith(prefix))
    ends = [key.find(delimiter, len(prefix)) if delimiter else -1 for key in fitting]
    shown = [key if end < 0 else key[: end + len(delimiter)] for key, end in zip(fitting, ends, strict=True)]
    return list(dict.fromkeys(shown))


def _pages(keys: Sequence[str], wanted: Wanted) -> list[Contents]:
    pages = [buckets.collect(_source(keys, wanted.prefix), wanted)]
    while (last := pages[-1].last) is not None:
        wanted = Wanted(wanted.prefix, wanted.delimiter, last, wanted.most)
        pages.append(buckets.collect(_source(keys, wanted.prefix), wanted))
    return pages


def _texts(page: Contents) -> list[str]:
    return sorted([item.key for item in page.items] + list(page.prefixes))


@given(
    keys=KEYS,
    prefix=st.sampled_from(["", "a", "a/", "a/b", "-", "é/"]),
    delimiter=st.sampled_from(["", "/", "-", "b/"]),
    most=st.integers(1, 7),
)
def test_the_pages_show_everything_once_and_in_order(keys: list[str], prefix: str, delimiter: str, most: int) -> None:
    pages = _pages(keys, Wanted(prefix, delimiter, most=most))

    assert _all(keys, prefix, delimiter) == [text for page in pages for text in _texts(page)]
    assert [len(_texts(page)) for page in pages[:-1]] == [most] * (len(pages) - 1)


def test_a_list_of_nothing_has_no_next_page() -> None:
    assert Contents([], []) == buckets.collect(_source(["a/b"], ""), Wanted(most=0))
    assert Contents([], []) == buckets.collect(_source([], ""), Wanted())


def test_a_list_begins_behind_a_key_that_need_not_be_there() -> None:
    page = buckets.collect(_source(["a/1", "a/2", "a/3"], ""), Wanted(after="a/15"))

    assert ["a/2", "a/3"] == _texts(page)


def test_thousands_of_keys_below_one_folder_cost_one_look() -> None:
    looks: list[str] = []
    inner = _source([f"a/{number:04}" for number in range(5000)] + ["b/1"], "")

    def source(after: str, limit: int) -> Sequence[Shown]:
        looks.append(after)
        return inner(after, limit)

    assert ["a/", "b/"] == _texts(buckets.collect(source, Wanted(delimiter="/")))
    assert 3 == len(looks)


def test_a_key_names_an_artifact_and_a_path() -> None:
    assert Key("run 1", "a//b/") == buckets.key("run 1/a//b/")
    assert "run 1/a//b/" == Key("run 1", "a//b/").text


@pytest.mark.parametrize("text", ["", "a", "a/", "/a", "/"])
def test_what_names_only_one_of_them_is_no_key(text: str) -> None:
    with pytest.raises(Invalid):
        buckets.key(text)


def test_a_file_is_known_by_what_its_sender_expects_or_by_what_nobody_takes_for_an_md5() -> None:
    assert ['"md5"', '"aa-1"'] == [buckets.etag(known, "aa") for known in ("md5", None)]
