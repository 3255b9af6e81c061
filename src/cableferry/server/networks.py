"""Networks, and whether an address is in one of them."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from cableferry.server.vault import CannotStart

Networks = tuple[IPv4Network | IPv6Network, ...]


def parse(texts: Iterable[str], setting: str) -> Networks:
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise CannotStart(f"{setting} holds what is no network: {error}") from None


def hold(networks: Networks, address: str | None) -> bool:
    """Whether an address is in one of the networks; one that cannot be read is in none."""
    try:
        found = ip_address(address or "")
    except ValueError:
        return False
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return any(found in network for network in networks)
