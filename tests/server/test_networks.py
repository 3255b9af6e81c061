"""Whether an address is in one of some networks."""

import pytest

from cableferry.server import networks
from cableferry.server.vault import CannotStart

ALLOWED = networks.parse(["10.8.0.0/24", "127.0.0.1", "fd00::/8"], "opeva.allow_anonymous_workers")


@pytest.mark.parametrize(
    ("address", "is_in"),
    [
        ("10.8.0.7", True),
        ("10.8.1.7", False),
        ("127.0.0.1", True),
        ("::ffff:10.8.0.7", True),
        ("fd12::1", True),
        ("::1", False),
        ("nonsense", False),
        ("", False),
        (None, False),
    ],
)
def test_an_address_is_in_a_network_or_not(address: str | None, is_in: bool) -> None:
    assert is_in == networks.hold(ALLOWED, address)


def test_what_is_no_network_keeps_the_server_from_starting() -> None:
    with pytest.raises(CannotStart, match=r"opeva.allow_anonymous_workers"):
        networks.parse(["10.8.0.1/24"], "opeva.allow_anonymous_workers")
