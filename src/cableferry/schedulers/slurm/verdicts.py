"""What a row of Slurm's and the run's own note say together about a job."""

import msgspec

from cableferry.schedulers.protocol import Ending, Phase, Sighting, Usage
from cableferry.schedulers.slurm import runs, states
from cableferry.schedulers.slurm.rows import Row
from cableferry.schedulers.slurm.runs import Status

_OF_THE_SCRIPT = {runs.DUPLICATE: Ending.DUPLICATE, runs.UNUSABLE: Ending.UNUSABLE}


def is_over(row: Row | None) -> bool:
    return row is None or states.phase(row.word) is Phase.ENDED


def alive(row: Row) -> Sighting:
    """A job that waits or runs, or of which Slurm says something we have no word for."""
    phase = states.phase(row.word)
    starts_at = row.starts_at if phase is Phase.QUEUED else None
    return Sighting(
        phase, word=row.word, reason=row.reason, node=row.node, starts_at=starts_at, submitted_at=row.submitted_at
    )


def ended(row: Row | None, status: Status | None, turned_away: Ending | None = None) -> Sighting:
    """A job that is over; without a row the note of its run is all there is, and a run turned away did nothing."""
    said = _ending(row, status)
    ending = said if turned_away is None or (said is Ending.DONE and status is not None) else turned_away
    code, signal = _code(row, status)
    if ending is Ending.DONE:
        code, signal = 0, None
    measured = None if status is None else status.usage
    if row is None:
        return Sighting(Phase.ENDED, code, signal, ending, usage=measured)
    return Sighting(Phase.ENDED, code, signal, ending, row.word, row.reason, row.node, usage=_used(row.usage, measured))


def _used(accounted: Usage | None, measured: Usage | None) -> Usage | None:
    """What accounting says, with the peak of memory that it may have missed between two looks."""
    if accounted is None or measured is None:
        return accounted or measured
    peaks = [peak for peak in (accounted.max_rss_bytes, measured.max_rss_bytes) if peak is not None]
    return msgspec.structs.replace(accounted, max_rss_bytes=max(peaks, default=None))


def _ending(row: Row | None, status: Status | None) -> Ending:
    said = None if row is None else states.ending(row.word)
    if status is not None:
        # what had already ended well was not stopped by what came after; what was stopped ended as Slurm says
        overrules = said is Ending.OUT_OF_MEMORY or (status.was_stopped and said is not None)
        if status.exit_code == 0 and (said is Ending.DONE or not overrules):
            return Ending.DONE
        return Ending.FAILED if said in (None, Ending.DONE) else said
    if said is Ending.FAILED and row is not None and row.exit_code in _OF_THE_SCRIPT:
        return _OF_THE_SCRIPT[row.exit_code]
    return said or Ending.FAILED


def _code(row: Row | None, status: Status | None) -> tuple[int | None, int | None]:
    if status is not None:
        return (status.exit_code, None) if status.signal is None else (None, status.signal)
    return (None, None) if row is None else (row.exit_code, row.signal)
