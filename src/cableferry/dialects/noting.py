"""Endpoints that leave a note of who did what, in the same transaction."""

from collections.abc import Callable
from functools import wraps

from cableferry.core.access import Person
from cableferry.dialects.endpoint import Call
from cableferry.engine import deeds
from cableferry.store.tx import Tx

Run = Callable[[Tx, Call], object]


def named(call: Call) -> str | None:
    """What the path says that it is about."""
    return " ".join(call.path.values()) or None


def noted(what: str, run: Run, about: Callable[[Call], str | None] = named) -> Run:
    """Run, and note it."""

    @wraps(run)
    def running(tx: Tx, call: Call) -> object:
        answer = run(tx, call)
        deeds.note(tx, call.caller.actor, what, about(call))
        return answer

    return running


def by_people(what: str, run: Run) -> Run:
    """The same where workers ask too, of which a job's history tells."""
    noting = noted(what, run)

    @wraps(run)
    def running(tx: Tx, call: Call) -> object:
        return (noting if isinstance(call.caller, Person) else run)(tx, call)

    return running
