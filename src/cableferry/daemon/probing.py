"""Sends a small job to each kind of node that profiles name, and says what it saw there."""

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from cableferry.daemon import launch, site
from cableferry.daemon.config import Config, Profile
from cableferry.daemon.findings import Finding, judged
from cableferry.schedulers import shared
from cableferry.schedulers.protocol import Accepted, Order, Phase, Resources, Sighting, Submission, Ticket
from cableferry.schedulers.slurm.clusters import Clusters
from cableferry.schedulers.slurm.scheduler import Place

_SCRIPT = Path(__file__).with_name("probe.sh")
_MOST_BYTES = 64 * 1024
_MOST_SKEW_SECONDS = 60
_OLDEST_APPTAINER = (1, 1)
_FOLDER_ADVICE = "set apptainer.tmp_dir to a folder that this user may write in and that every node sees"


class Visit(msgspec.Struct, frozen=True):
    """One kind of node, what is looked for there, and which of the profiles need it: `a path -> what it is`."""

    where: Resources
    program: str
    paths: dict[str, str]

    @property
    def label(self) -> str:
        parts = (self.where.cluster, self.where.partition, self.where.constraint, self.where.reservation)
        return "node of " + ("/".join(part for part in parts if part) or "the default partition")


class Stay(msgspec.Struct, frozen=True):
    """A visit that was submitted, and when, by this machine's clock."""

    visit: Visit
    order: Order
    submission: Submission
    began: float


def findings(config: Config, seconds: float) -> Iterator[Finding]:
    """All visits at once, and each as long as `seconds` at most."""
    runs = Path(config.jobs_dir) / launch.RUNS
    # a running daemon takes jobs of its own prefix for its own
    prefix = f"cf-probe-{os.getpid()}"
    slurm = Clusters(Place(runs, prefix, config.command_seconds), {p.resources.cluster for p in config.profiles})
    stays = [_begun(slurm, runs, f"{prefix}-{n}", visit, config) for n, visit in enumerate(visits(config.profiles))]
    try:
        seen = _ended(slurm, stays, time.monotonic() + seconds)
        for stay in stays:
            yield from _told(stay, config, seen.get(stay.order.name))
    finally:
        for stay in stays:
            if isinstance(stay.submission, Accepted):
                slurm.cancel(stay.submission.ticket, is_urgent=True)
            shutil.rmtree(runs / stay.order.name, ignore_errors=True)


def visits(profiles: Sequence[Profile]) -> list[Visit]:
    """One for all profiles whose jobs go to the same kind of node, as small as a job can be."""
    found: dict[Resources, Visit] = {}
    for profile in profiles:
        of = profile.resources
        where = Resources(
            cluster=of.cluster,
            partition=of.partition,
            account=of.account,
            qos=of.qos,
            constraint=of.constraint,
            reservation=of.reservation,
            cpus=1,
            time="5",
        )
        before = found.get(where, Visit(where, "", {}))
        program = before.program if profile.container is None else profile.container.program
        found[where] = Visit(where, program, before.paths | _needed(profile))
    return list(found.values())


def _needed(profile: Profile) -> dict[str, str]:
    if profile.container is None:
        program = profile.command[0] if profile.command else ""
        return {program: f"the program of {profile.label}"} if os.path.isabs(program) else {}
    sources = [bind.partition(":")[0] for bind in profile.container.binds]
    image = {profile.container.image: f"the image of {profile.label}"}
    return image | dict.fromkeys(sources, f"what {profile.label} binds")


def _begun(slurm: Clusters, runs: Path, name: str, visit: Visit, config: Config) -> Stay:
    command = ("bash", "-c", _SCRIPT.read_text(), "probe", config.jobs_dir, visit.program, *visit.paths)
    order = Order(name, command, str(runs / name), str(runs / name), {"LANG": "C.UTF-8"}, visit.where, "probe")
    return Stay(visit, order, slurm.submit(order), time.time())


def _ended(slurm: Clusters, stays: Sequence[Stay], until: float) -> dict[str, Sighting]:
    """What was last seen of each, once all are over or there is no more time."""
    tickets = [stay.submission.ticket for stay in stays if isinstance(stay.submission, Accepted)]
    seen: dict[str, Sighting] = {}
    pause = threading.Event()
    while tickets and time.monotonic() < until:
        seen |= slurm.sight(tickets, time.time()).jobs
        tickets = [ticket for ticket in tickets if not _is_over(seen, ticket)]
        pause.wait(1 if tickets else 0)
    return seen


def _is_over(seen: dict[str, Sighting], ticket: Ticket) -> bool:
    return ticket.name in seen and seen[ticket.name].phase is Phase.ENDED


def _told(stay: Stay, config: Config, seen: Sighting | None) -> Iterator[Finding]:
    what = stay.visit.label
    if not isinstance(stay.submission, Accepted):
        yield Finding(what, False, stay.submission.reason, "see the rows of the profiles")
        return
    if seen is None or seen.phase is not Phase.ENDED:
        why = "nobody says why" if seen is None else f"{seen.word}, {seen.reason or 'no reason given'}"
        yield Finding(what, False, f"the job did not end in time: {why}", "look again when there is room, for longer")
        return
    facts = _facts(Path(stay.order.output_dir) / "stdout.log")
    if ("over", "yes") not in facts:
        node = f" {seen.node}" if seen.node else ""
        found = f"node{node} ran nothing in {config.jobs_dir}: {seen.ending}, {seen.word or 'no word of it'}"
        yield Finding(what, False, found, _FOLDER_ADVICE)
        return
    yield from _judged(stay, config, facts)


def _facts(path: Path) -> list[tuple[str, str]]:
    """What the job wrote; a job may be over before a line of it."""
    with contextlib.suppress(OSError), os.fdopen(shared.opened(path), "rb") as file:
        lines = file.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()
        return [(name, said) for name, _, said in (line.partition(" ") for line in lines)]
    return []


def _judged(stay: Stay, config: Config, facts: list[tuple[str, str]]) -> Iterator[Finding]:
    told = dict(facts)
    what, node = stay.visit.label, told.get("node", "?")
    writes = told.get("writes") == "yes"
    yield judged(what, writes, f"{node} {'writes' if writes else 'cannot write'} {config.jobs_dir}", _FOLDER_ADVICE)
    yield _clock(f"clock of {node}", told.get("clock", ""), stay.began)
    if stay.visit.program:
        is_ok = site.version(told.get("program", "")) >= _OLDEST_APPTAINER
        found = f"{node}: {told.get('program') or 'no answer'}"
        yield judged(f"container program, {what}", is_ok, found, "the node needs Apptainer 1.1 or later, too")
    paths = list(stay.visit.paths.items())
    absent = [paths[int(number)] for name, number in facts if name == "absent" and number.isdigit()]
    for path, of in absent:
        yield Finding(what, False, f"{node} cannot read {path}, {of}", "bring it there, or correct the profile")
    if paths and not absent:
        yield Finding(what, True, f"{node} sees {', '.join(path for path, _ in paths)}")


def _clock(what: str, said: str, began: float) -> Finding:
    """The job looked between its submission and now."""
    if not said.isdigit():
        return Finding(what, False, "it does not say its time", "ask the site")
    skew = min(0.0, int(said) + 1 - began) or max(0.0, int(said) - time.time())
    return judged(what, abs(skew) < _MOST_SKEW_SECONDS, f"{skew:+.0f} s to this machine's", "ask the site to set it")
