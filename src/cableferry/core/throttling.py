"""How long failed sign-ins make the next one wait."""

from datetime import timedelta

ACCOUNT_TRIES = 5
ADDRESS_TRIES = 20
ACCOUNT_LONGEST = timedelta(minutes=1)
ADDRESS_LONGEST = timedelta(minutes=15)
FORGOTTEN_AFTER = timedelta(hours=1)


def delay(failures: int, free_tries: int, longest: timedelta) -> timedelta:
    """Nothing at first, then one second, and twice as long with each further failure."""
    beyond = failures - free_tries
    if beyond < 0:
        return timedelta(0)
    return min(timedelta(seconds=2 ** min(beyond, 20)), longest)
