"""What jobs write, read as it grows, without its secrets, and sent to a real server."""

import contextlib
import itertools
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cableferry.client import emx2
from cableferry.client.emx2 import Emx2
from cableferry.client.errors import Trouble, Unreachable
from cableferry.client.patience import ONCE
from cableferry.client.schemes import Unsigned
from cableferry.daemon.tailing import files, redacting, sending
from cableferry.daemon.tailing.files import READ_BYTES, Piece, Tail
from cableferry.daemon.tailing.redacting import BadPattern, Cut, Masks
from cableferry.daemon.tailing.sending import Source
from cableferry.testing import processes, servers
from cableferry.testing.servers import Running
from cableferry.wire.emx2 import bodies

NONE: Masks = ()
MASKS = redacting.compiled([r"token=\w+", r"(?i)password: (?P<secret>\S+)", r"x*"])


# secrets


def test_without_patterns_everything_goes_at_once() -> None:
    assert Cut(5, b"a\nb\xffc"[:5]) == redacting.redacted(b"a\nb\xffc"[:5], NONE, False)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"token=abc123 and token=x\n", b"*** and ***\n"),
        (b"PASSWORD: hunter2 \n", b"PASSWORD: *** \n"),
        (b"nothing here\n", b"nothing here\n"),
        (b"password: \xff\xfe\n", b"password: ***\n"),
    ],
)
def test_a_secret_is_masked(line: bytes, said: bytes) -> None:
    assert Cut(len(line), said) == redacting.redacted(line, MASKS[:2], False)


def test_half_a_line_waits_for_its_other_half() -> None:
    assert Cut(2, b"a\n") == redacting.redacted(b"a\ntok", MASKS[:2], False)
    assert Cut(0, b"") == redacting.redacted(b"token=abc", MASKS[:2], False)
    assert Cut(9, b"***") == redacting.redacted(b"token=abc", MASKS[:2], True)


def test_a_line_without_an_end_is_cut_in_no_secret() -> None:
    fill = b"." * (redacting.MOST_LINE_BYTES - redacting.HELD_BACK_BYTES - 5)
    line = (fill + b"token=" + b"s" * 2000 + b"." * redacting.MOST_LINE_BYTES)[: redacting.MOST_LINE_BYTES + 100]

    cut = redacting.redacted(line, MASKS[:2], False)

    assert Cut(len(fill), fill) == cut
    rest = redacting.redacted(line[cut.taken :] + b"\n", MASKS[:2], False)
    assert rest.said.startswith(b"***...")
    endless = redacting.redacted(b"token=" + b"s" * redacting.MOST_LINE_BYTES, MASKS[:2], False)
    assert b"***" == endless.said


def test_a_pattern_that_cannot_be_read_is_named() -> None:
    with pytest.raises(BadPattern, match=re.escape("'(a'")):
        redacting.compiled(["ok", "(a"])


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([b"token=", b"abc", b"\n", b" ", b"password: ", b"\xff"]), max_size=15),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_however_it_is_read_it_is_said_the_same(parts: list[bytes], steps: list[int]) -> None:
    content = b"".join(parts)
    whole = redacting.redacted(content, MASKS, True).said
    said, taken, end = b"", 0, 0
    for step in itertools.cycle(steps):
        end = min(end + step, len(content))
        cut = redacting.redacted(content[taken:end], MASKS, end == len(content))
        said, taken = said + cut.said, taken + cut.taken
        if end == len(content):
            break

    assert (whole, len(content)) == (said, taken)
    assert b"token=a" not in said


# files


def drained(tail: Tail, masks: Masks = NONE, is_over: bool = False) -> tuple[bytes, Tail]:
    said = b""
    while (piece := files.read(tail, masks, is_over)) is not None:
        said, tail = said + piece.content, piece.then
    return said, tail


def test_a_file_is_read_on_from_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    tail = Tail("stdout", str(path))
    assert files.read(tail, NONE, False) is None

    path.write_bytes(b"one")
    said, tail = drained(tail)
    assert b"one" == said
    with path.open("ab") as file:
        file.write(b"two" * READ_BYTES)
    said, tail = drained(tail)

    assert b"two" * READ_BYTES == said
    assert (3 + 3 * READ_BYTES,) * 2 == (tail.source, tail.sent)


@pytest.mark.parametrize("how", ["truncated", "replaced"])
def test_a_file_that_begins_anew_is_read_anew(tmp_path: Path, how: str) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"before")
    _, tail = drained(Tail("stdout", str(path)))
    if how == "replaced":
        (tmp_path / "new").write_bytes(b"after, and longer")
        os.replace(tmp_path / "new", path)
    else:
        path.write_bytes(b"after")

    said, tail = drained(tail)

    assert files.ANEW in said
    assert said.endswith(path.read_bytes())
    assert (len(path.read_bytes()), 6 + len(said)) == (tail.source, tail.sent)


def test_what_is_no_file_says_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name in ("pipe", "link", "nothing"):
        assert files.read(Tail("stdout", str(tmp_path / name)), NONE, True) is None
    assert files.read(Tail("stdout", str(tmp_path)), NONE, True) is None


def test_the_last_half_line_comes_when_it_is_over(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"one\ntoken=abc")

    said, tail = drained(Tail("stdout", str(path)), MASKS)
    assert (b"one\n", 4) == (said, tail.source)
    assert b"***" == drained(tail, MASKS, is_over=True)[0]


def test_a_chunk_is_never_too_large(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"x" * 99 + b"\n" + b"x\n" * READ_BYTES)

    piece = files.read(Tail("stdout", str(path)), redacting.compiled(["x"]), False)

    assert isinstance(piece, Piece)
    assert len(piece.content) < 256 * 1024


# the server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path_factory.mktemp("server"))) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Iterator[Emx2]:
    with connected(server.port) as client:
        yield client


def a_source(client: Emx2, path: Path, **said: object) -> Source:
    job = client.claim(client.create(bodies.CreateBody("p")).id, "w1")
    return Source(job.id, job.epoch, Tail("stdout", str(path)), **said)  # type: ignore[arg-type]  # as the test says


def read(client: Emx2, source: Source) -> bytes:
    return b"".join(client.logs.whole(source.job_id, source.tail.stream))


def sent(client: Emx2, *sources: Source, masks: Masks = NONE) -> list[Source]:
    """The sources once nothing more is to be sent."""
    known = list(sources)
    while True:
        after = sending.send(client.logs, "w1", known, masks)
        if not any(map(sending.has_more, known, after)):
            return after
        known = after


def test_logs_of_several_jobs_arrive_whole(client: Emx2, tmp_path: Path) -> None:
    sources = [a_source(client, tmp_path / str(number)) for number in range(3)]
    for number in range(2):
        (tmp_path / str(number)).write_bytes(os.urandom(500_000))

    after = sent(client, *sources)

    for source in after[:2]:
        assert Path(source.tail.path).read_bytes() == read(client, source)
    assert sources[2] == after[2]


def test_secrets_do_not_leave_this_machine(client: Emx2, tmp_path: Path) -> None:
    path = tmp_path / "out"
    source = a_source(client, path)
    for part in (b"begin\nto", b"ken=sec", b"ret\nend", b" password: x\n"):
        with path.open("ab") as file:
            file.write(part)
        (source,) = sent(client, source, masks=MASKS)

    assert b"begin\n***\nend password: ***\n" == read(client, source)


def test_a_lost_answer_is_made_up_for(client: Emx2, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"one\n")
    source = a_source(client, path)
    sent(client, source)
    with path.open("ab") as file:
        file.write(b"two\n")

    # the journal still knows the tail as it was before the first batch
    (after,) = sent(client, source)

    assert b"one\ntwo\n" == read(client, source)
    assert 8 == after.tail.sent


def test_a_log_that_is_elsewhere_is_gone_on_with(client: Emx2, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"one\n")
    source = a_source(client, path)
    (after,) = sent(client, source)
    path.write_bytes(b"ONE\nTWO\n")

    (behind,) = sent(client, source)
    forgotten = a_source(client, path)
    (again,) = sent(client, msgspec.structs.replace(forgotten, tail=after.tail))

    assert b"one\nONE\nTWO\n" == read(client, behind)
    assert b"ONE\nTWO\n" == read(client, again)


def test_a_fenced_worker_sends_nothing_more(client: Emx2, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"x")
    source = a_source(client, path)

    (after,) = sent(client, msgspec.structs.replace(source, epoch=7))

    assert after.tail.is_done
    assert [after] == sending.send(client.logs, "w1", [after], NONE)


def test_a_source_that_is_over_is_done_in_the_end(client: Emx2, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"one\nhalf a line")
    missing = a_source(client, tmp_path / "nothing", is_over=True)

    done = sent(client, a_source(client, path, is_over=True), missing, masks=MASKS)

    assert [True, True] == [source.tail.is_done for source in done]
    assert b"one\nhalf a line" == read(client, done[0])


def test_trouble_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"x")
    away = emx2.connect("http://127.0.0.1:1", Unsigned(), ONCE)

    with pytest.raises(Unreachable):
        sending.send(away.logs, "w1", [Source("j1", 1, Tail("stdout", str(path)))], NONE)

    away.close()


def test_a_watched_job_has_its_turn_more_often() -> None:
    assert sending.pause_seconds(True) < sending.pause_seconds(False)


def test_a_server_that_is_killed_while_a_chunk_comes_has_it_once(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"")
    source: Source | None = None
    for turn in range(5):
        with processes.running(tmp_path, "--auth-off") as process, connected(process.port) as client:
            source = source or a_source(client, path)
            with path.open("ab") as file:
                file.write(b"line %d\n" % turn * 5_000)
            # whatever it answers does not reach the journal
            sender = threading.Thread(target=_tried, args=(client, source))
            sender.start()
            sender.join(turn * 0.01)
            process.kill()
            sender.join()

    with processes.running(tmp_path, "--auth-off") as process, connected(process.port) as client:
        assert source is not None
        (source,) = sent(client, source)
        assert path.read_bytes() == read(client, source)


def _tried(client: Emx2, source: Source) -> None:
    with contextlib.suppress(Trouble):
        sending.send(client.logs, "w1", [source], NONE)


@contextlib.contextmanager
def connected(port: int) -> Iterator[Emx2]:
    client = emx2.connect(f"http://127.0.0.1:{port}", Unsigned(), ONCE)
    client.register(bodies.RegisterBody("w1", capabilities=[bodies.Capability("p", None, 1000)]))
    yield client
    client.close()
