"""The contracts that are served beside the usual one, each where the settings ask for it."""

from collections.abc import Mapping
from typing import Protocol

from cableferry.core.policy import Rules
from cableferry.server import opeva
from cableferry.server.networks import Networks
from cableferry.server.settings import Settings
from cableferry.store.tx import Store


class Served(Protocol):
    """A contract of a running server."""

    @property
    def contract(self) -> object:
        """What its endpoints are given."""
        ...

    async def show(self) -> None:
        """Until cancelled: what it does besides answering."""
        ...


class Beside(Protocol):
    """A module that puts one contract together from the settings."""

    def is_served(self, settings: Settings) -> bool: ...

    def rules(self, settings: Settings) -> Rules: ...

    def guests(self, settings: Settings) -> Networks: ...

    def open_in(self, settings: Settings, store: Store) -> Served: ...


BESIDE: Mapping[str, Beside] = {"opeva": opeva}


def served(settings: Settings) -> dict[str, Beside]:
    return {name: each for name, each in BESIDE.items() if each.is_served(settings)}
