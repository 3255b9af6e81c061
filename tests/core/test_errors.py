"""What a refusal carries."""

import pytest

from cableferry.core.errors import Conflict, Forbidden, Invalid, Kind, NotFound, Refusal

DEFAULTS = {
    NotFound: Kind.UNKNOWN_JOB,
    Conflict: Kind.ILLEGAL_MOVE,
    Invalid: Kind.MALFORMED,
    Forbidden: Kind.NOT_ALLOWED,
}


@pytest.mark.parametrize(("refusal", "kind"), DEFAULTS.items())
def test_a_refusal_without_a_kind_has_the_usual_one(refusal: type[Refusal], kind: Kind) -> None:
    assert kind is refusal("no").kind


def test_a_refusal_carries_its_sentence_its_kind_and_its_facts() -> None:
    refusal = Conflict("job j17 is over", Kind.ALREADY_ENDED, holder="w1", epoch=3)

    assert ("job j17 is over", "job j17 is over") == (str(refusal), refusal.detail)
    assert Kind.ALREADY_ENDED is refusal.kind
    assert {"holder": "w1", "epoch": 3} == refusal.facts


def test_the_engine_has_exactly_four_ways_to_say_no() -> None:
    assert {NotFound, Conflict, Invalid, Forbidden} == set(DEFAULTS)
    assert set(DEFAULTS) <= set(Refusal.__subclasses__())


def test_the_kinds_are_words_that_a_program_can_tell_apart() -> None:
    assert [] == [kind for kind in Kind if not kind.replace("-", "").islower()]
