"""Tests that share something real run in one process of several."""

import os

import pytest


@pytest.mark.xdist_group("together")
def test_the_runner_knows_the_groups(request: pytest.FixtureRequest) -> None:
    """A runner that does not would start each shared server once in every process, and stall on what is locked."""
    is_shared_out = "PYTEST_XDIST_WORKER" in os.environ

    assert is_shared_out == request.node.nodeid.endswith("@together")
