"""Names, passwords, tokens and sessions as values, and how sign-ins are slowed."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from cableferry.core import accounts, throttling
from cableferry.core.access import Person, Role
from cableferry.core.accounts import Session, Token, User
from cableferry.core.errors import Conflict, Forbidden, Invalid

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
OWNER = User(1, "ann", Role.OWNER, NOW)
TOKEN = Token("t1", "ann", None, Role.EDITOR, NOW)
SESSION = Session("s1", "ann", "csrf", None, NOW, NOW, NOW + HOUR)


@pytest.mark.parametrize("name", ["ann", "ann.b-c_d@e.org", "7", "a" * 64])
def test_a_plain_name_is_allowed(name: str) -> None:
    assert accounts.check_name(name) == name


@pytest.mark.parametrize("name", ["", "Ann", " ann", "änn", "a/b", "a" * 65, "ann\n", "-ann"])
def test_a_name_that_reads_like_another_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="lower-case"):
        accounts.check_name(name)


@pytest.mark.parametrize("password", ["short", "aaaaaaaaaaaaaaa", "a" * 1025, "Annabel-the-3rd"])
def test_a_password_that_is_guessed_first_is_refused(password: str) -> None:
    with pytest.raises(Invalid):
        accounts.check_password("annabel-the-3rd", password)


def test_a_long_sentence_is_a_password() -> None:
    assert accounts.check_password("ann", "the ferry leaves at dawn") == "the ferry leaves at dawn"


def test_the_last_owner_stays() -> None:
    with pytest.raises(Conflict, match="last Owner"):
        accounts.check_another_owner(OWNER, ["ann"])


@pytest.mark.parametrize(
    ("user", "owners"),
    [
        (OWNER, ["ann", "bob"]),
        (msgspec.structs.replace(OWNER, role=Role.EDITOR), ["bob"]),
        (msgspec.structs.replace(OWNER, disabled_at=NOW), ["bob"]),
    ],
)
def test_whoever_is_not_the_last_owner_may_go(user: User, owners: list[str]) -> None:
    accounts.check_another_owner(user, owners)


def test_a_token_reaches_no_further_than_its_maker() -> None:
    editor = Person("ann", Role.EDITOR)
    accounts.check_scope(editor, Role.EDITOR)

    with pytest.raises(Forbidden, match="Editor"):
        accounts.check_scope(editor, Role.MANAGER)


@pytest.mark.parametrize(
    ("changes", "is_alive"),
    [({}, True), ({"expires_at": NOW + HOUR}, True), ({"expires_at": NOW}, False), ({"revoked_at": NOW}, False)],
)
def test_a_token_lives_until_it_ends(changes: dict[str, datetime], is_alive: bool) -> None:
    assert accounts.is_alive(msgspec.structs.replace(TOKEN, **changes), NOW) is is_alive


def test_a_session_in_use_lives_on_but_not_for_ever() -> None:
    assert accounts.slides_to(SESSION, HOUR, NOW + HOUR / 2) == NOW + HOUR * 1.5
    late = NOW + accounts.SESSION_LIFE - HOUR / 2
    assert accounts.slides_to(SESSION, HOUR, late) == NOW + accounts.SESSION_LIFE


@pytest.mark.parametrize(("seen_at", "is_stale"), [(None, True), (NOW - HOUR, True), (NOW, False)])
def test_a_use_is_noted_once_a_minute(seen_at: datetime | None, is_stale: bool) -> None:
    assert accounts.is_stale(seen_at, NOW) is is_stale


@pytest.mark.parametrize(("failures", "seconds"), [(1, 0), (4, 0), (5, 1), (6, 2), (8, 8), (20, 60), (5000, 60)])
def test_the_wait_doubles_with_each_failure_and_has_an_end(failures: int, seconds: int) -> None:
    assert throttling.delay(failures, 5, timedelta(minutes=1)) == timedelta(seconds=seconds)
