"""How the EMX2 protocol spells our states, and which moves its workers may report."""

from collections.abc import Mapping

from cableferry.core.artifacts import Stage
from cableferry.core.errors import Invalid
from cableferry.core.jobs import Cause, State, Wish
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


STAGE_WORDS: dict[Stage, str] = {stage: stage.value.upper() for stage in Stage}
# whatever a refusal names as the current state
STATUS_WORDS: Mapping[object, str] = {state.value: word for state, word in (*WORDS.items(), *STAGE_WORDS.items())}
STAGES: dict[str, Stage] = {word: stage for stage, word in STAGE_WORDS.items()}

ARTIFACT_LINKS: dict[Stage, tuple[str, ...]] = {
    Stage.CREATED: ("upload", "upload_legacy", "files"),
    Stage.UPLOADING: ("upload", "upload_legacy", "commit", "files"),
    Stage.REGISTERED: ("commit", "files"),
    Stage.COMMITTED: ("download", "files"),
    Stage.FAILED: ("files",),
}


def stage(word: str) -> Stage:
    """The stage of an artifact that a word stands for."""
    try:
        return STAGES[word]
    except KeyError:
        raise Invalid(f"unknown status {word[:40]!r}: use one of {', '.join(STAGES)}") from None


def state(word: str) -> State:
    """The state a word stands for; every other word is refused with the list of known ones."""
    try:
        return STATES[word]
    except KeyError:
        raise Invalid(f"unknown status {word[:40]!r}: use one of {', '.join(STATES)}") from None


def word(state: State, wish: Wish | None = None, cause: Cause | None = None) -> str:
    """How the protocol spells where a job is, whatever somebody wishes of it and why ever it ended."""
    return WORDS[state]


# what a worker may say of a failure; the others are the server's to say
CAUSES: dict[str, Cause] = {
    cause.value: cause
    for cause in Cause
    if cause not in (Cause.SILENT, Cause.OFFLINE, Cause.NOT_SUBMITTED, Cause.STOPPED)
}


def cause(state: State, detail: str | None, said: str | None = None) -> Cause | None:
    """Why a job failed: as its worker says, or as far as the detail tells."""
    if state is not State.FAILED:
        return None
    if said is not None:
        if said not in CAUSES:
            raise Invalid(f"unknown cause {said[:40]!r}: use one of {', '.join(CAUSES)}")
        return CAUSES[said]
    text = (detail or "").lower()
    if text.startswith("input_hash_mismatch"):
        return Cause.MISMATCH
    return Cause.TIMEOUT if text.startswith("timeout") or "slurm_state=timeout" in text else Cause.ERROR
