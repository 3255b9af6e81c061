"""Identifiers sort by the time they were made and never repeat."""

import uuid
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from cableferry.engine import ids

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_an_id_is_a_uuid_of_version_7_that_holds_its_time() -> None:
    made = uuid.UUID(ids.new(NOW))

    assert (7, uuid.RFC_4122) == (made.version, made.variant)
    assert int(NOW.timestamp() * 1000) == made.int >> 80


@given(st.integers(1, 10**6))
def test_a_later_id_sorts_behind_an_earlier_one(milliseconds: int) -> None:
    assert ids.new(NOW) < ids.new(NOW + timedelta(milliseconds=milliseconds))


def test_ids_of_one_instant_differ() -> None:
    assert 10_000 == len({ids.new(NOW) for _ in range(10_000)})
