"""How fast one large file comes out of the server, against one process that reads and hashes it."""

import statistics
from pathlib import Path

from bench import report, servers, signed, transfers
from bench.transfers import MIB
from bench.upload import TOTAL, artifact

ROUNDS = 3


def main(total: int = TOTAL, rounds: int = ROUNDS) -> None:
    with servers.folder() as path, servers.running(servers.sqlite_url(path), path) as server:
        target = f"{signed.API}/artifacts/{artifact(server)}/files/large"
        transfers.put(server.address, target, transfers.source(path, min(total, 256 * MIB)), total)
        blob = _blob(path, total)
        transfers.read(blob)
        before = server.peak_bytes()
        times = [
            (transfers.read(blob), transfers.get(server.address, target, total),
             transfers.get(server.address, f"{target}?verify=1", total))
            for _ in range(rounds)
        ]  # fmt: skip
        grown = server.peak_bytes() - before
    rows = [
        (f"round {number}", *(f"{total / 1e6 / seconds:.0f}" for seconds in (floor, plain, verified)),
         f"{floor / plain:.2f}")
        for number, (floor, plain, verified) in enumerate(times, 1)
    ]  # fmt: skip
    report.table(f"One file of {total // MIB} MiB, MB/s", ("", "floor", "server", "verified", "ratio"), rows)
    print(f"\nthe server's memory grew by {grown / MIB:.0f} MiB at its peak")
    floor, value = (statistics.fmean(column) for column in list(zip(*times, strict=True))[:2])
    report.result("download", total / 1e6 / value, "MB/s", total / 1e6 / floor, grown_mib=grown / MIB)


def _blob(path: Path, size: int) -> Path:
    (found,) = [blob for blob in (path / "blobs").glob("*/*") if blob.stat().st_size == size]
    return found


if __name__ == "__main__":
    main()
