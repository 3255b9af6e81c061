"""A machine says which state may follow which, as data."""

from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

S = TypeVar("S")


class Machine(msgspec.Struct, Generic[S], frozen=True):
    """Legal moves from each state; a state without moves is final."""

    moves: Mapping[S, frozenset[S]]

    def allows(self, old: S, new: S) -> bool:
        return new in self.moves[old]

    def is_final(self, state: S) -> bool:
        return not self.moves[state]

    def is_within(self, wider: "Machine[S]") -> bool:
        """Whether every move here is a move there too."""
        return all(news <= wider.moves[old] for old, news in self.moves.items())
