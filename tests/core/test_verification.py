"""What a look at stored bytes says of them."""

import pytest

from cableferry.core import verification
from cableferry.core.verification import Content, Finding, Problem, Trouble


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (Content("aa", 3), Content("aa", 3)),
        (Content(None, 3), Content("aa", 3)),
        (Content("aa", None), Content("aa", 3)),
        (Content(None, None), Content("aa", 3)),
        (Content("aa", 3), Content(None, 3)),
    ],
)
def test_nothing_is_wrong_with_what_fits_as_far_as_it_is_known(expected: Content, found: Content) -> None:
    assert verification.compare("x", "p", expected, found) is None


@pytest.mark.parametrize(
    ("expected", "found", "told"),
    [
        (Content("aa", 3), Content("bb", 3), ("3 bytes with SHA-256 aa", "3 bytes with SHA-256 bb")),
        (Content("aa", 3), Content("aa", 4), ("3 bytes with SHA-256 aa", "4 bytes with SHA-256 aa")),
        (Content(None, 3), Content(None, 4), ("3 bytes", "4 bytes")),
        (Content("aa"), Content("bb"), ("bytes with SHA-256 aa", "bytes with SHA-256 bb")),
    ],
)
def test_what_does_not_fit_is_damaged(expected: Content, found: Content, told: tuple[str, str]) -> None:
    assert Finding("x", Problem.DAMAGED, "p", *told) == verification.compare("x", "p", expected, found)


def test_what_could_not_be_read_is_told_as_it_is() -> None:
    found = verification.compare("x", "p", Content("aa", 3), Trouble(Problem.UNREACHABLE, "p2", "it sleeps"))

    assert Finding("x", Problem.UNREACHABLE, "p2", "3 bytes with SHA-256 aa", "it sleeps") == found
