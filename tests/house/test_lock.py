"""The lock, what pyproject.toml asks for, and the list of libraries agree."""

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.lists import BASE, LIBRARIES, STANDARD
from tests.house.sources import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
PINS = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", LOCK, re.MULTILINE))


def _asked() -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"].values()
    groups = [PROJECT["project"]["dependencies"], PROJECT["build-system"]["requires"], *extras]
    return [Requirement(line) for lines in groups for line in lines]


def test_everything_asked_for_is_pinned_within_its_range() -> None:
    unmet = [
        str(asked)
        for asked in _asked()
        if not asked.specifier.contains(PINS.get(canonicalize_name(asked.name), "0"), prereleases=True)
    ]

    assert [] == unmet


def test_every_pin_has_its_hashes() -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", LOCK)
    bare = [entry for entry in entries if "==" in entry and "--hash=sha256:" not in entry]

    assert [] == bare


def test_every_library_comes_with_the_extra_it_is_listed_under() -> None:
    extras = {BASE: PROJECT["project"]["dependencies"], **PROJECT["project"]["optional-dependencies"]}
    brought = {extra: {Requirement(line).name for line in lines} for extra, lines in extras.items()}
    wrong = [
        library.distribution
        for library in LIBRARIES.values()
        if library.extra != STANDARD and library.distribution not in brought[library.extra]
    ]

    assert [] == wrong
