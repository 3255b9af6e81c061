"""What the site's Slurm is like, cluster by cluster: its version, its controller, its accounts, its partitions."""

import re
import shutil
from collections.abc import Iterator

from cableferry.daemon.config import Config
from cableferry.daemon.findings import Finding, judged
from cableferry.schedulers.slurm import commands

_OLDEST = (20, 11)
_PROGRAMS = ("sbatch", "squeue", "scancel", "scontrol", "sinfo")
# of the states of nodes, those in which one takes jobs, now or when others have ended
_USABLE = frozenset({"idle", "mixed", "allocated", "completing", "planned", "reserved", "powered_down", "powering_up"})
_MARKS = "*~#!%$@^-+"


def findings(config: Config) -> Iterator[Finding]:
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        advice = "install Slurm's client commands, or put their folder into PATH"
        yield Finding("slurm", False, f"{', '.join(missing)} not found in PATH", advice)
        return
    ran = commands.run(("sbatch", "--version"), config.command_seconds)
    found = ran.out.strip() or ran.trouble
    yield judged("slurm", version(ran.out) >= _OLDEST, found, "Slurm 20.11 or later is needed")
    wanted = {(profile.resources.cluster, profile.resources.partition) for profile in config.profiles}
    for cluster in sorted({cluster or "" for cluster, _ in wanted} or {config.cluster or ""}):
        yield from _cluster(config, cluster)
    for cluster, partition in sorted((cluster or "", partition) for cluster, partition in wanted if partition):
        yield _partition(config, cluster, partition)


def version(text: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)", text)
    return (0,) if found is None else (int(found[1]), int(found[2]))


def _cluster(config: Config, cluster: str) -> Iterator[Finding]:
    of = _of(cluster)
    ping = commands.run(("scontrol", *_at(cluster), "ping"), config.command_seconds)
    found = " ".join((ping.out.strip() or ping.trouble).split())
    yield judged(f"slurmctld{of}", ping.is_ok, found, "ask the site: while it does not answer, nothing is submitted")
    asked = commands.run(("sacct", *_at(cluster), "--noheader", "--starttime=now"), config.command_seconds)
    told = "sacct answers" if asked.is_ok else f"{asked.trouble}: ends are read from squeue and the jobs' own notes"
    yield Finding(f"accounting{of}", True, told)
    shown = commands.run(("scontrol", *_at(cluster), "show", "config"), config.command_seconds)
    if shown.is_ok:
        yield _settings(f"settings{of}", shown.out, asked.is_ok)


def _settings(what: str, text: str, has_accounts: bool) -> Finding:
    """What the daemon's work depends on: how long ends are remembered, and whether jobs die as a whole."""
    said = dict(re.findall(r"^(\w+)\s*= (.*?)\s*$", text, re.MULTILINE))
    age, proctrack = said.get("MinJobAge", "?"), said.get("ProctrackType", "?")
    found = f"cluster {said.get('ClusterName', '?')}, MinJobAge {age}, {proctrack}"
    if not has_accounts:
        found += "; without accounts nobody but the job's own note knows of it after that time"
    is_whole = proctrack != "proctrack/pgid"
    advice = "ask the site for proctrack/cgroup: what a cancelled job has started may go on without it"
    return judged(what, is_whole, found, advice)


def _partition(config: Config, cluster: str, partition: str) -> Finding:
    what = f"partition {partition}{_of(cluster)}"
    # one job may name several, of which Slurm takes the first that has room
    command = ("sinfo", *_at(cluster), "--noheader", f"--partition={partition}", "--format=%a|%D|%T")
    ran = commands.run(command, config.command_seconds)
    if not ran.is_ok:
        return Finding(what, False, ran.trouble, "ask the site")
    rows = [line.split("|") for line in ran.out.splitlines() if line.count("|") == 2]
    if not rows:
        return Finding(what, False, "there is none of that name", "correct partition; sinfo shows which there are")
    found = ", ".join(f"{count} {state}" for _, count, state in rows)
    has_nodes = any(state.rstrip(_MARKS) in _USABLE for _, count, state in rows if count != "0")
    is_up = any(available == "up" for available, _, _ in rows)
    advice = "no node of it takes jobs now: ask the site, or name another partition"
    return judged(what, is_up and has_nodes, f"{rows[0][0]}, nodes: {found}", advice)


def _of(cluster: str) -> str:
    return f" of {cluster}" if cluster else ""


def _at(cluster: str) -> tuple[str, ...]:
    return (f"--clusters={cluster}",) if cluster else ()
