"""How long failed sign-ins make the next one wait."""

from datetime import timedelta

FORGOTTEN_AFTER = timedelta(hours=1)
ACCOUNT_LONGEST = timedelta(minutes=1)
ADDRESS_FACTOR = 4


def delay(failures: int, free: int, longest: timedelta) -> timedelta:
    """Nothing at first, then one second, and twice as long with each further failure."""
    if failures < free:
        return timedelta(0)
    return min(timedelta(seconds=2 ** min(failures - free, 20)), longest)
