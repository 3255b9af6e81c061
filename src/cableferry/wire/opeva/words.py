"""How the worker contract spells where a job is, and which moves its workers may report."""

from collections.abc import Mapping

import msgspec

from cableferry.core.errors import Invalid
from cableferry.core.jobs import Cause, State, Wish
from cableferry.core.machine import Machine

STOP_REQUESTED = "stop_requested"
STOPPED = "stopped"
QUEUED = "queued"

WORDS: dict[State, str] = {
    State.NEW: "launching",
    State.READY: QUEUED,
    State.CLAIMED: "dispatched",
    State.RUNNING: "running",
    State.SUCCEEDED: "finished",
    State.FAILED: "failed",
    State.CANCELLED: "canceled",
}
# said of jobs that are nowhere; a job never gets there, and no worker can send it there
NOWHERE = ("not_found", "unknown")
# what later workers say of a job that they prepare
PREPARING = "setup"

_S = State
MOVES: Machine[State] = Machine(
    moves={
        _S.NEW: frozenset({_S.READY, _S.CANCELLED}),
        _S.READY: frozenset({_S.CLAIMED, _S.CANCELLED}),
        _S.CLAIMED: frozenset({_S.RUNNING, _S.FAILED, _S.CANCELLED}),
        _S.RUNNING: frozenset({_S.SUCCEEDED, _S.FAILED, _S.CANCELLED}),
        _S.SUCCEEDED: frozenset(),
        _S.FAILED: frozenset(),
        _S.CANCELLED: frozenset(),
    }
)
# a job that was asked to stop does not begin any more
STOPPING: Machine[State] = Machine(
    moves={**MOVES.moves, _S.CLAIMED: frozenset({_S.FAILED, _S.CANCELLED}), _S.RUNNING: MOVES.moves[_S.RUNNING]}
)
STRICTLY_STOPPING: Machine[State] = Machine(moves={**STOPPING.moves, _S.RUNNING: frozenset({_S.FAILED, _S.CANCELLED})})
# a worker that looks now and then may never see a short job run, and its result counts all the same
SKIPPED: Mapping[tuple[State, State], State] = {(_S.CLAIMED, _S.SUCCEEDED): _S.RUNNING}


class Said(msgspec.Struct, frozen=True):
    """What a worker's word means: where the job is, whether it is to stop, and how it ended."""

    state: State
    cause: Cause | None = None


SAID: dict[str, Said] = {
    **{word: Said(state) for state, word in WORDS.items()},
    "failed": Said(State.FAILED, Cause.ERROR),
    STOPPED: Said(State.CANCELLED, Cause.STOPPED),
    PREPARING: Said(State.CLAIMED),
}
KNOWN: tuple[str, ...] = (*SAID, STOP_REQUESTED, *NOWHERE)
"""Every word that a worker may use, whatever comes of it."""


def word(state: State, wish: Wish | None = None, cause: Cause | None = None) -> str:
    """How the contract spells a state; a job that is to stop, and one that was stopped, have words of their own."""
    if wish is Wish.STOP and state in (State.CLAIMED, State.RUNNING):
        return STOP_REQUESTED
    if cause is Cause.STOPPED:
        return STOPPED
    return WORDS[state]


def check_known(status: str) -> None:
    if status not in KNOWN:
        raise Invalid(f"Unknown status {status[:40]!r}")
