"""Where the key of secrets at rest comes from, and that a box opens with that key alone."""

import os
from pathlib import Path

import pytest

from cableferry.server import vault
from cableferry.server.vault import CannotStart, Vault, WrongKey

KEY = "a key of at least thirty-two characters"


def test_a_box_opens_for_what_it_was_sealed() -> None:
    box = Vault(KEY).seal(b"secret", "credential c1")

    assert b"secret" not in box
    assert Vault(KEY).open(box, "credential c1") == b"secret"


def test_two_boxes_of_one_secret_differ() -> None:
    assert Vault(KEY).seal(b"secret") != Vault(KEY).seal(b"secret")


@pytest.mark.parametrize("change", ["key", "purpose", "byte", "cut", "version", "nothing left"])
def test_a_box_opens_with_nothing_else(change: str) -> None:
    box = Vault(KEY).seal(b"secret", "credential c1")
    key = KEY + "x" if change == "key" else KEY
    about = "credential c2" if change == "purpose" else "credential c1"
    changed = {
        "byte": box[:-1] + bytes([box[-1] ^ 1]),
        "cut": box[:-1],
        "version": b"\x02" + box[1:],
        "nothing left": b"\x01",
    }.get(change, box)

    with pytest.raises(WrongKey) as refused:
        Vault(key).open(changed, about)

    assert "key" in refused.value.detail or "backup" in refused.value.detail


def test_a_short_key_stops_the_start() -> None:
    with pytest.raises(CannotStart, match="32"):
        Vault("short")


def test_a_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "credentials.key"

    made = vault.made_key(path)

    assert vault.made_key(path) == made
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["credentials.key"]


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602, 0o660, 0o601])
def test_a_key_that_others_may_use_stops_the_start(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "credentials.key"
    vault.made_key(path)
    os.chmod(path, mode)

    with pytest.raises(CannotStart, match="chmod 600"):
        vault.made_key(path)


@pytest.mark.parametrize("content", ["", "not a key", "c2hvcnQ=", "ä"])
def test_a_damaged_key_file_stops_the_start_and_is_not_replaced(tmp_path: Path, content: str) -> None:
    path = tmp_path / "credentials.key"
    path.write_text(content)
    path.chmod(0o600)

    with pytest.raises(CannotStart):
        vault.made_key(path)

    assert path.read_text() == content


def test_a_missing_file_of_the_operators_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="cannot be read"):
        vault.key_from(tmp_path / "missing")
