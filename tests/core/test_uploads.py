"""What may still come of an upload, and when it is whole."""

import pytest

from cableferry.core import uploads
from cableferry.core.artifacts import Description, Role
from cableferry.core.errors import Conflict, Invalid, Kind, Refusal
from cableferry.core.uploads import MOST_BYTES, Part, Whole
from tests.core.specimens import NOW, an_upload, seconds

WHOLE = Whole(3, "aa", 10)


def test_an_upload_is_full_when_every_byte_is_here() -> None:
    assert an_upload(length=10, received=10).is_full
    assert not an_upload(length=10, received=9).is_full
    assert not an_upload(length=None, received=9).is_full


def test_an_upload_says_what_file_it_will_be() -> None:
    upload = an_upload(path="x/y", role=Role.INDEX, content_type="text/plain")

    assert upload.said == Description("x/y", Role.INDEX, "text/plain")


def test_an_upload_has_a_time_to_be_heard_of_again() -> None:
    assert an_upload().lifetime == seconds(60)


@pytest.mark.parametrize("length", [-1, MOST_BYTES + 1])
def test_no_file_has_such_a_length(length: int) -> None:
    with pytest.raises(Invalid, match="must lie between"):
        uploads.check_length(length)


def test_a_file_may_be_empty() -> None:
    assert uploads.check_length(0) == 0


def test_what_is_complete_does_not_change() -> None:
    uploads.check_going_on(an_upload())

    assert Kind.COMPLETED_UPLOAD is refused(lambda: uploads.check_going_on(an_upload(completed_at=NOW)))


@pytest.mark.parametrize("offset", [0, 4, 6])
def test_bytes_begin_where_the_others_end(offset: int) -> None:
    uploads.check_offset(an_upload(received=5), 5)

    with pytest.raises(Conflict) as refusal:
        uploads.check_offset(an_upload(received=5), offset)
    assert refusal.value.facts == {"expected-offset": 5, "provided-offset": offset}


@pytest.mark.parametrize(("said", "received", "length"), [(10, 0, 11), (None, 5, 4), (10, 5, 9)])
def test_a_length_is_said_once(said: int | None, received: int, length: int) -> None:
    upload = an_upload(length=said, received=received)

    assert Kind.INCONSISTENT_LENGTH is refused(lambda: uploads.check_settles(upload, length))


@pytest.mark.parametrize(("said", "received", "length"), [(10, 0, 10), (None, 5, 5), (None, 5, 6)])
def test_a_length_that_fits_is_taken(said: int | None, received: int, length: int) -> None:
    uploads.check_settles(an_upload(length=said, received=received), length)


def test_there_is_room_up_to_the_length() -> None:
    uploads.check_room(an_upload(length=10, received=4), 6)
    uploads.check_room(an_upload(length=None, received=4), 600)

    assert Kind.INCONSISTENT_LENGTH is refused(lambda: uploads.check_room(an_upload(length=10, received=4), 7))


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"revision": 4}, Kind.CHANGED_MEANWHILE),
        ({"length": 11}, Kind.INCONSISTENT_LENGTH),
        ({"sha256": "bb"}, Kind.BAD_DIGEST),
    ],
    ids=["went-on", "too-short", "other-bytes"],
)
def test_only_what_was_said_is_called_whole(changed: dict[str, object], kind: Kind) -> None:
    assert kind is refused(lambda: uploads.check_whole(an_upload(**{"revision": 3, **changed}), WHOLE))


@pytest.mark.parametrize("said", [{}, {"length": 10}, {"sha256": "aa"}])
def test_what_was_not_said_need_not_fit(said: dict[str, object]) -> None:
    uploads.check_whole(an_upload(revision=3, **said), WHOLE)


def test_a_file_is_made_of_the_chosen_parts_in_their_order() -> None:
    parts = [Part(number, f"p{number}", 1, "aa", NOW) for number in (1, 2, 5)]

    assert uploads.chosen(parts, None) == parts
    assert [part.number for part in uploads.chosen(parts, [5, 1])] == [1, 5]
    assert Kind.UNKNOWN_PART is refused(lambda: uploads.chosen(parts, [1, 3]))


def refused(work: object) -> Kind:
    with pytest.raises(Refusal) as refusal:
        work()
    return refusal.value.kind
