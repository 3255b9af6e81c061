"""What holds for every test: no setting leaks in from outside, no example is too slow to be true."""

import os

import hypothesis


def pytest_configure() -> None:
    for name in [name for name in os.environ if name.startswith("CABLEFERRY_")]:
        del os.environ[name]
    hypothesis.settings.register_profile("house", deadline=None, print_blob=True)
    hypothesis.settings.load_profile("house")
