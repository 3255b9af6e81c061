"""Inputs brought to a job and results taken away from it, by the daemon's own code and against a real server."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import msgspec

from bench import report, servers, signed, transfers, upload
from bench.servers import Server
from bench.transfers import MIB
from cableferry.client import emx2
from cableferry.client.schemes import Signed
from cableferry.core.jobs import State
from cableferry.daemon import launch
from cableferry.daemon.config import Config, Profile
from cableferry.daemon.endings import Collected
from cableferry.daemon.errands import Errands
from cableferry.daemon.held import Held, Stage
from cableferry.daemon.journal import Journal
from cableferry.daemon.metrics import Metrics
from cableferry.daemon.outcomes import Prepared
from cableferry.schedulers.protocol import Ending, Phase, Sighting
from cableferry.wire.emx2.bodies import CreateBody, TransitionBody

LARGE = 1024 * MIB
HUGE = 4096 * MIB
FILES = 10_000
FILE_BYTES = 4096
PROFILE = Profile(processor="bench", profile="b", command=("true",))


class Times(NamedTuple):
    """Seconds to store an output, to stage it as an input of another job, and of the floor of the same bytes."""

    stored: float
    staged: float
    floor: float


class Growth(NamedTuple):
    """Bytes by which the most memory grew."""

    daemon: int
    server: int


class Site:
    """A daemon's hands and its folders; the clock, the loop and the scheduler are not in the way."""

    def __init__(self, server: Server, folder: Path) -> None:
        address = f"http://127.0.0.1:{server.address[1]}"
        self.server = server
        self.folder = folder
        self.config = Config(
            worker_id="bench", server=address, state_dir=str(folder), jobs_dir=str(folder / "jobs"), profiles=(PROFILE,)
        )
        self.client = emx2.connect(address, Signed("bench", signed.SECRET))
        with contextlib.closing(Journal(folder / "journal.db", Held, TransitionBody)):
            self._errands = Errands(self.config, self.client, lambda id_: False, Metrics(self.config))
        self._errands.is_plain = False

    def job(self, inputs: object = None) -> Held:
        id_ = self.client.create(CreateBody("bench", "b")).id
        said = msgspec.json.encode(inputs).decode()
        end = Sighting(Phase.ENDED, exit_code=0, ending=Ending.DONE)
        held = Held(
            id=id_, name=f"{id_}-a1", folder=id_, processor="bench", profile="b", inputs=said, end=end,
            stage=Stage.ENDED, told=State.RUNNING,
        )  # fmt: skip
        launch.folders(launch.places(self.config, held))
        return held

    def output(self, held: Held) -> Path:
        return launch.places(self.config, held).output

    def store(self, held: Held) -> tuple[str, float]:
        """The artifact, and how long it took."""
        began = perf_counter()
        collected = self._errands.collect(held, PROFILE)
        taken = perf_counter() - began
        if not isinstance(collected, Collected) or collected.output_artifact_id is None:
            raise RuntimeError(f"the output was not stored: {collected}")
        return collected.output_artifact_id, taken

    def stage(self, artifact: str) -> float:
        held = self.job([artifact])
        began = perf_counter()
        prepared = self._errands.stage(held, PROFILE)
        taken = perf_counter() - began
        if not isinstance(prepared, Prepared):
            raise RuntimeError(f"the input was not staged: {prepared}")
        self.forget(held)
        return taken

    def forget(self, held: Held) -> None:
        shutil.rmtree(self.output(held).parent)


def main(large: int = LARGE, huge: int = HUGE, files: int = FILES) -> None:
    with servers.folder() as path, servers.running(servers.sqlite_url(path), path) as server:
        site = Site(server, path)
        source = transfers.source(path, min(large, 256 * MIB))
        one = _one(site, source, large)
        many = _many(site, files)
        grown = _grown(site, huge)
        site.client.close()
    _tell(one, many, grown, (large, huge, files))
    report.result(
        "staging", one.staged, f"s to stage {large // MIB} MiB", one.floor, stored_ratio=one.stored / one.floor,
        files_staged_per_second=files / many.staged, files_stored_per_second=files / many.stored,
        files_floor=files / many.floor, daemon_grown_mib=grown.daemon / MIB, server_grown_mib=grown.server / MIB,
    )  # fmt: skip


def _one(site: Site, source: transfers.Source, size: int) -> Times:
    """One large file, and the floor beside it: one process that hashes and durably writes the same bytes."""
    held = site.job()
    transfers.kept(source, size, site.output(held) / "large.bin")
    artifact, stored = site.store(held)
    site.forget(held)
    staged = site.stage(artifact)
    floor = transfers.kept(source, size, site.folder / "floor")
    (site.folder / "floor").unlink()
    return Times(stored, staged, floor)


def _many(site: Site, files: int) -> Times:
    held = site.job()
    contents = [os.urandom(FILE_BYTES) for _ in range(files)]
    for number, content in enumerate(contents):
        path = site.output(held) / f"{number // 100:03}" / f"{number:05}.bin"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    artifact, stored = site.store(held)
    staged = site.stage(artifact)
    (site.folder / "small").mkdir()
    return Times(stored, staged, upload.kept_each(site.folder / "small", contents))


def _grown(site: Site, size: int) -> Growth:
    """Of a file so large that nobody could hold it; its holes cost no disk, and are hashed and sent all the same."""
    held = site.job()
    with (site.output(held) / "huge.bin").open("wb") as file:
        file.truncate(size)
    with _watching(site.server) as grown:
        artifact, _ = site.store(held)
        site.forget(held)
        site.stage(artifact)
    return grown[0]


@contextlib.contextmanager
def _watching(server: Server) -> Iterator[list[Growth]]:
    """Both processes' memory from here on; what they had before does not count."""
    found: list[Growth] = []
    pids = (os.getpid(), server.pid)
    for pid in pids:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    before = [_peak(pid) for pid in pids]
    yield found
    found.append(Growth(*(_peak(pid) - known for pid, known in zip(pids, before, strict=True))))


def _peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _tell(one: Times, many: Times, grown: Growth, sizes: Sequence[int]) -> None:
    large, huge, files = sizes
    heads = ("", "floor", "stored", "ratio", "staged", "ratio")
    speeds = (large / 1e6 / one.floor, large / 1e6 / one.stored, large / 1e6 / one.staged)
    report.table(f"One file of {large // MIB} MiB, MB/s", heads, [_row("", speeds)])
    rates = (files / many.floor, files / many.stored, files / many.staged)
    report.table(f"{report.count(files)} files of {FILE_BYTES // 1024} KiB, a second", heads, [_row("", rates)])
    print(
        f"\na file of {huge // MIB} MiB: the daemon's memory grew by {grown.daemon / MIB:.0f} MiB at its peak,"
        f" the server's by {grown.server / MIB:.0f} MiB"
    )


def _row(name: str, figures: tuple[float, float, float]) -> report.Row:
    floor, stored, staged = figures
    ratios = (f"{floor / stored:.2f}", f"{floor / staged:.2f}")
    return (name, report.count(floor), report.count(stored), ratios[0], report.count(staged), ratios[1])


if __name__ == "__main__":
    main()
