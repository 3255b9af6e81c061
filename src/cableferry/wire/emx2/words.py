"""How the EMX2 protocol spells our states, and which moves its workers may report."""

from cableferry.core.errors import Invalid
from cableferry.core.jobs import Cause, State
from cableferry.core.machine import Machine

WORDS: dict[State, str] = {
    State.READY: "PENDING",
    State.CLAIMED: "CLAIMED",
    State.SUBMITTED: "SUBMITTED",
    State.RUNNING: "STARTED",
    State.SUCCEEDED: "COMPLETED",
    State.FAILED: "FAILED",
    State.CANCELLED: "CANCELLED",
}
STATES: dict[str, State] = {word: state for state, word in WORDS.items()}

MOVES: Machine[State] = Machine(
    moves={
        State.READY: frozenset({State.CLAIMED, State.CANCELLED}),
        State.CLAIMED: frozenset({State.SUBMITTED, State.FAILED, State.CANCELLED}),
        State.SUBMITTED: frozenset({State.RUNNING, State.FAILED, State.CANCELLED}),
        State.RUNNING: frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED}),
        State.SUCCEEDED: frozenset(),
        State.FAILED: frozenset(),
        State.CANCELLED: frozenset(),
    }
)

LINKS: dict[State, tuple[str, ...]] = {
    State.READY: ("claim", "cancel"),
    State.CLAIMED: ("submit", "cancel"),
    State.SUBMITTED: ("start", "cancel"),
    State.RUNNING: ("complete", "fail", "cancel"),
    State.SUCCEEDED: (),
    State.FAILED: (),
    State.CANCELLED: (),
}


def state(word: str) -> State:
    """The state a word stands for; every other word is refused with the list of known ones."""
    try:
        return STATES[word]
    except KeyError:
        raise Invalid(f"unknown status {word[:40]!r}: use one of {', '.join(STATES)}") from None


def cause(state: State, detail: str | None) -> Cause | None:
    """Why a job failed, as far as the worker's detail tells."""
    if state is not State.FAILED:
        return None
    text = (detail or "").lower()
    if text.startswith("input_hash_mismatch"):
        return Cause.MISMATCH
    return Cause.TIMEOUT if text.startswith("timeout") or "slurm_state=timeout" in text else Cause.ERROR


def slurm_reason(detail: str | None) -> str | None:
    """Why a job waits in Slurm, from the queue report of its worker."""
    for part in (detail or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == "reason" and value:
            return value
    return None
