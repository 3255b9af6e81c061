"""The settings that are in force, each with where it came from, and no secret among them."""

import re
from collections.abc import Mapping

import msgspec

from cableferry.server import described
from cableferry.server.settings import Secret, Settings
from cableferry.wire.ui.configuration import SettingItem

DEFAULT = "default"
HIDDEN = "***"

# the password in the address of a database or of anything else
_PASSWORD = re.compile(r"(://[^:/?#@\s]*:)[^@/\s]*(@)")
_IN_QUERY = re.compile(r"([?&]password=)[^&\s\"]*", re.IGNORECASE)


def effective(settings: Settings, sources: Mapping[str, str]) -> list[SettingItem]:
    """In the order in which they are documented."""
    return [
        SettingItem(
            each.key, _written(settings, each.key), each.default, _source(sources, each.key), each.type, each.meaning
        )
        for each in described.settings()
    ]


def _source(sources: Mapping[str, str], key: str) -> str:
    """A secret may stand in a file of its own, and a table's values under keys below its own."""
    named = (each for each in sources if each in (key, f"{key}_file") or each.startswith(f"{key}."))
    return sources[found] if (found := next(named, None)) else DEFAULT


def _written(settings: Settings, key: str) -> str:
    value: object = settings
    for name in key.split("."):
        value = getattr(value, name)
    text = "" if value is None else msgspec.json.encode(value, enc_hook=_shown).decode()
    return _IN_QUERY.sub(rf"\1{HIDDEN}", _PASSWORD.sub(rf"\1{HIDDEN}\2", text))


def _shown(value: object) -> str:
    return HIDDEN if isinstance(value, Secret) else str(value)
