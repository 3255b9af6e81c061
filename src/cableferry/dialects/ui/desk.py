"""What the account endpoints are configured with, and who is calling them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

import msgspec

from cableferry.core.access import Person
from cableferry.core.errors import Forbidden
from cableferry.core.policy import Rules
from cableferry.dialects import contracts
from cableferry.dialects.endpoint import Call
from cableferry.engine.credentials import Seal
from cableferry.engine.sessions import Patience
from cableferry.store.tx import Store
from cableferry.wire.ui.configuration import SettingItem
from cableferry.wire.ui.overviews import SweepItem


class Passwords(Protocol):
    """Hashes and compares, slowly by design: never inside a transaction."""

    def hash(self, name: str, password: str) -> str: ...

    def is_right(self, stored: str | None, password: str) -> bool: ...


class Desk(msgspec.Struct, frozen=True):
    """Where people sign in, the rules of the jobs that they look at by contract, and what the server was set up with.

    `first_token` is what proves that somebody may be the first Owner; `sweeps` tells what the server did by itself.
    """

    store: Store
    contracts: Mapping[str, Rules]
    passwords: Passwords
    patience: Patience
    idle: timedelta
    seal: Seal
    configuration: Sequence[SettingItem] = ()
    first_token: str = ""
    sweeps: Callable[[], Sequence[SweepItem]] = tuple

    @property
    def rules(self) -> Rules:
        """Those of the usual contract."""
        return contracts.chosen(self.contracts, None)


def desk(call: Call) -> Desk:
    found: Desk = call.service
    return found


def person(call: Call) -> Person:
    if not isinstance(call.caller, Person):
        raise Forbidden("this needs a signed-in user")
    return call.caller
