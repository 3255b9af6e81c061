"""The states of a job, what may follow which, and how the EMX2 protocol spells them."""

from cableferry.core.jobs import FINAL, HELD, JOBS, Cause, State
from cableferry.core.machine import Machine
from cableferry.wire.emx2 import words
from tools.docs import markdown

PATH = "states.md"

MEANINGS: dict[State, str] = {
    State.NEW: "It has been described but nothing has looked at it yet.",
    State.BLOCKED: "It waits for other jobs to end.",
    State.READY: "It waits in the queue; any worker that offers its processor and profile may claim it.",
    State.CLAIMED: "A worker holds a lease on it and prepares it.",
    State.SUBMITTED: "Its worker gave it to the scheduler of the site, where it waits for a node.",
    State.RUNNING: "It runs on a node.",
    State.SUSPECT: "Its worker has reason to think that it failed, but does not know yet.",
    State.SUCCEEDED: "It ran to its end and its result is there.",
    State.FAILED: "It will not come to a good end; the cause says why.",
    State.CANCELLED: "Somebody called it off.",
    State.PARKED: "Somebody took it out of the queue until further notice.",
}

CAUSES: dict[Cause, str] = {
    Cause.ERROR: "The command, its preparation or its submission went wrong.",
    Cause.SIGNAL: "A signal ended the command.",
    Cause.TIMEOUT: "It used more time than it had.",
    Cause.LOST: "The scheduler knows nothing of it any more.",
    Cause.MISMATCH: "An input was not what its hash promised.",
    Cause.NOT_SUBMITTED: "It was claimed, but not submitted within `timeouts.claimed_seconds`.",
    Cause.SILENT: "Nobody reported on it for longer than the timeouts allow.",
    Cause.OFFLINE: "Its worker was not heard of at all for too long.",
    Cause.STOPPED: "It did not fail: somebody asked for a stop, and its worker stopped it.",
    Cause.OUT_OF_MEMORY: "It used more memory than it was given.",
    Cause.NODE_FAILED: "The node that it ran on failed.",
    Cause.PREEMPTED: "Its scheduler took its node away for another job, or put it back though it may run only once.",
    Cause.STAGING: "Its inputs could not be brought to it.",
    Cause.STORING: "Its outputs could not be brought away.",
    Cause.REFUSED: "The site's scheduler refused it.",
    Cause.UNSURE: "Nobody could find out whether the site's scheduler took it.",
}


def text() -> str:
    return markdown.page(
        "States",
        "A state is a fact about a job.\n"
        "What someone wants of a job (a wish), why it failed (a cause) and how often it was tried (an attempt)"
        " are kept beside the state, not in it.",
        "## What every contract shares",
        markdown.block("mermaid", _diagram(JOBS, {state: state.value for state in State})),
        markdown.table(("state", "means", "kind", "may become"), [_state(state) for state in State]),
        "A held job is leased to a worker.\n"
        "A final state is never left: when a claimed job goes back to the queue, that is no move but the next attempt,"
        " with a higher epoch that fences off whoever held the job before.",
        "## Why a job failed",
        markdown.table(("cause", "means"), [(markdown.code(cause), CAUSES[cause]) for cause in Cause]),
        "## How the EMX2 protocol says it",
        markdown.block("mermaid", _diagram(words.MOVES, words.WORDS)),
        markdown.table(("status", "our state", "may become", "links of the job"), _spelled()),
        "Every job has the links `self` and `transitions` besides.\n"
        "`PENDING` becomes `CLAIMED` only through a claim; a report that says so is refused.\n"
        "A report of the status a held job has already is taken as a note in its history and moves nothing.\n"
        "States without a word never reach this protocol.",
    )


def _diagram(machine: Machine[State], names: dict[State, str]) -> str:
    lines = ["stateDiagram-v2"]
    firsts = [state for state in machine.moves if not any(state in news for news in machine.moves.values())]
    lines += [f"    [*] --> {names[state]}" for state in firsts]
    for old, news in machine.moves.items():
        lines += [f"    {names[old]} --> {names[new]}" for new in _sorted(news)]
    lines += [f"    {names[state]} --> [*]" for state in machine.moves if machine.is_final(state)]
    return "\n".join(lines)


def _state(state: State) -> tuple[str, str, str, str]:
    kind = "final" if state in FINAL else "held" if state in HELD else ""
    news = ", ".join(markdown.code(new) for new in _sorted(JOBS.moves[state]))
    return markdown.code(state), MEANINGS[state], kind, news


def _spelled() -> list[tuple[str, str, str, str]]:
    return [
        (
            markdown.code(word),
            markdown.code(state),
            ", ".join(markdown.code(words.WORDS[new]) for new in _sorted(words.MOVES.moves[state])),
            ", ".join(markdown.code(link) for link in words.LINKS[state]),
        )
        for state, word in words.WORDS.items()
    ]


def _sorted(states: frozenset[State]) -> list[State]:
    """In the order in which a job usually lives through them."""
    return [state for state in State if state in states]
