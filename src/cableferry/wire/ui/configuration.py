"""The settings as an Owner sees them: what is in force, and where it came from."""

import msgspec


class SettingItem(msgspec.Struct, frozen=True):
    """One setting; the value is written as JSON, and of a secret only that there is one."""

    key: str
    value: str
    default: str
    source: str
    type: str
    meaning: str


class SettingList(msgspec.Struct, frozen=True):
    items: list[SettingItem]
    count: int
    version: str
