"""When a worker's credential counts."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from cableferry.core import credentials
from cableferry.core.credentials import Credential, Standing
from cableferry.core.errors import Conflict

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
FRESH = Credential("c1", "w1", None, NOW, "user:ann")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Standing.ACTIVE),
        ({"expires_at": NOW + HOUR}, Standing.ACTIVE),
        ({"expires_at": NOW}, Standing.EXPIRED),
        ({"revoked_at": NOW}, Standing.REVOKED),
        ({"revoked_at": NOW, "expires_at": NOW}, Standing.REVOKED),
    ],
)
def test_a_credential_counts_until_it_ends(changes: dict[str, datetime], expected: Standing) -> None:
    assert credentials.standing(msgspec.structs.replace(FRESH, **changes), NOW) is expected


def test_a_second_active_credential_is_refused() -> None:
    with pytest.raises(Conflict, match="rotate"):
        credentials.check_none_active("w1", [FRESH], NOW)


def test_dead_credentials_are_in_nobodys_way() -> None:
    credentials.check_none_active("w1", [msgspec.structs.replace(FRESH, revoked_at=NOW)], NOW)


@pytest.mark.parametrize(
    ("expires_at", "expected"), [(None, NOW + HOUR), (NOW + 2 * HOUR, NOW + HOUR), (NOW + HOUR / 2, NOW + HOUR / 2)]
)
def test_grace_never_lengthens_a_life(expires_at: datetime | None, expected: datetime) -> None:
    old = msgspec.structs.replace(FRESH, expires_at=expires_at)

    assert credentials.end_of_grace(old, NOW, HOUR) == expected
