"""Every setting says what it means."""

from cableferry.server import described


def test_every_setting_has_a_meaning() -> None:
    assert [] == [setting.key for setting in described.settings() if not setting.meaning.endswith(".")]
    assert [] == [name for name, meaning in described.sections() if not meaning.endswith(".")]
