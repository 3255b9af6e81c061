"""Tests that share something real run in one process of several."""

import pytest


@pytest.mark.xdist_group("together")
def test_the_runner_knows_the_groups(request: pytest.FixtureRequest) -> None:
    """A runner that does not would start each shared server once in every process, and stall on what is locked."""
    is_grouped = getattr(request.config.option, "loadgroup", False)

    assert is_grouped == request.node.nodeid.endswith("@together")
