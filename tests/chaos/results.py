"""What came of each cell of the crash matrix, round by round."""

import msgspec

from tests.chaos.rounds import Done
from tests.chaos.story import Faults
from tools.docs.played import Played


def after(played: Played, done: Done) -> Played:
    """One round more; one in which nothing happened shows nothing."""
    faults = Faults(*played.faults) + done.faults
    return msgspec.structs.replace(played, rounds=played.rounds + int(done.happened), **faults._asdict())
