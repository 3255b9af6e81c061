"""Slurm's words for where a job is, as phases and endings."""

from cableferry.schedulers.protocol import Ending, Phase

_PHASES: dict[str, Phase] = {
    **dict.fromkeys(
        (
            "PENDING",
            "REQUEUED",
            "REQUEUE_FED",
            "REQUEUE_HOLD",
            "RESV_DEL_HOLD",
            "SPECIAL_EXIT",
            "EXPEDITING",
        ),
        Phase.QUEUED,
    ),
    **dict.fromkeys(
        (
            "CONFIGURING",
            "POWER_UP_NODE",
            "RUNNING",
            "COMPLETING",
            "RESIZING",
            "SIGNALING",
            "STAGE_OUT",
            "STOPPED",
            "SUSPENDED",
            "UPDATE_DB",
        ),
        Phase.RUNNING,
    ),
}

_ENDINGS: dict[str, Ending] = {
    "COMPLETED": Ending.DONE,
    "FAILED": Ending.FAILED,
    "CANCELLED": Ending.CANCELLED,
    "TIMEOUT": Ending.TIMEOUT,
    "OUT_OF_MEMORY": Ending.OUT_OF_MEMORY,
    "NODE_FAIL": Ending.NODE_FAILED,
    "PREEMPTED": Ending.PREEMPTED,
    "DEADLINE": Ending.DEADLINE,
    "BOOT_FAIL": Ending.NOT_STARTED,
    "LAUNCH_FAILED": Ending.NOT_STARTED,
    "RECONFIG_FAIL": Ending.NOT_STARTED,
    "REVOKED": Ending.REVOKED,
}

WORDS = frozenset(_PHASES) | frozenset(_ENDINGS)


def word(text: str) -> str:
    """The word itself: `CANCELLED by 1000` says who, and `COMPLETED+` that there was more."""
    return text.partition(" ")[0].rstrip("+*~#!%$@^-")


def phase(word: str) -> Phase:
    if word in _ENDINGS:
        return Phase.ENDED
    return _PHASES.get(word, Phase.PUZZLING)


def ending(word: str) -> Ending | None:
    return _ENDINGS.get(word)
