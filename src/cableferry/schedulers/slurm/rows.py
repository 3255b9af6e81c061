"""Reads what squeue, sacct and scontrol print, the ugly lines too."""

import re
from collections.abc import Iterator

import msgspec

from cableferry.schedulers.protocol import Usage
from cableferry.schedulers.slurm import states

# a name may hold anything, so it comes last
SQUEUE = "%A|%T|%V|%S|%N|%r|%j"
SACCT = "JobIDRaw,State,ExitCode,Submit,ElapsedRaw,TotalCPU,MaxRSS,NodeList,Reason,JobName"
_NOTHING = frozenset({"", "None", "(null)", "N/A", "Unknown", "None assigned", "none"})
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_SIZE = re.compile(r"([0-9.]+)([KMGTP]?)")
_CPU = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.(\d+))?")


class Row(msgspec.Struct, frozen=True):
    """One job as one of the commands shows it."""

    id: str
    word: str
    name: str
    submitted_at: int | None = None
    starts_at: int | None = None
    node: str | None = None
    reason: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    usage: Usage | None = None


def squeue(text: str) -> list[Row]:
    return [_queued(fields) for fields in _split(text, 7)]


def _queued(fields: list[str]) -> Row:
    id_, word, submitted, starts, node, reason, name = fields
    return Row(id_, states.word(word), name, _number(submitted), _number(starts), _said(node), _said(reason))


def sacct(text: str) -> list[Row]:
    """The jobs, each with what the hungriest of its steps took."""
    lines = list(_split(text, 10))
    memory: dict[str, int] = {}
    for fields in lines:
        job = fields[0].partition(".")[0]
        memory[job] = max(memory.get(job, 0), _bytes(fields[6]))
    return [_accounted(fields, memory[fields[0]]) for fields in lines if fields[0].isdigit()]


def _accounted(fields: list[str], memory: int) -> Row:
    id_, word, code, submitted, elapsed, cpu, _, node, reason, name = fields
    exit_code, signal = exit_and_signal(code)
    usage = Usage(_number(elapsed), _seconds(cpu), memory or None)
    return Row(
        id_, states.word(word), name, _number(submitted), None, _said(node), _said(reason), exit_code, signal, usage
    )


def scontrol(text: str) -> Row | None:
    """The one job of `scontrol --oneliner show job`."""
    fields = dict(re.findall(r"(\w+)=(\S*)", text))
    if not {"JobId", "JobState", "JobName"} <= fields.keys():
        return None
    exit_code, signal = exit_and_signal(fields.get("ExitCode", ""))
    return Row(
        id=fields["JobId"],
        word=states.word(fields["JobState"]),
        name=fields["JobName"],
        submitted_at=_number(fields.get("SubmitTime", "")),
        node=_said(fields.get("NodeList", "")),
        reason=_said(fields.get("Reason", "")),
        exit_code=exit_code,
        signal=signal,
    )


def exit_and_signal(text: str) -> tuple[int | None, int | None]:
    """`3:0` is an exit code, `0:9` a signal; Slurm marks a job that used too much memory with signal 125."""
    code, _, signal = text.partition(":")
    if not (code.isdigit() and signal.isdigit()):
        return None, None
    return (int(code), None) if signal == "0" else (None, int(signal))


def _split(text: str, count: int) -> Iterator[list[str]]:
    """Lines of as many fields as asked for; what is not of that form is no job of ours."""
    for line in text.splitlines():
        fields = line.split("|", count - 1)
        if len(fields) == count and fields[0]:
            yield fields


def _said(text: str) -> str | None:
    return None if text in _NOTHING else text


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _bytes(text: str) -> int:
    found = _SIZE.fullmatch(text)
    return 0 if found is None else int(float(found[1]) * _UNITS[found[2]])


def _seconds(text: str) -> float | None:
    found = _CPU.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    return days * 86400 + hours * 3600 + minutes * 60 + seconds + float(f"0.{found[5] or 0}")
