"""A server started from an ordinary shell serves more connections than the shell lets it."""

import contextlib
import resource
import socket
from pathlib import Path

from cableferry.testing import processes
from tests import limits

AT_EASE = 200
CROWD = 300
ASK = b"GET /api/hpc/health HTTP/1.1\r\nHost: x\r\n\r\n"


def test_more_callers_stay_than_a_shell_allows_files(tmp_path: Path) -> None:
    with limits.lowered(resource.RLIMIT_NOFILE, AT_EASE):
        process = processes.Process(tmp_path, "--auth-off")

    with contextlib.ExitStack() as crowd:
        crowd.callback(process.stop)
        answers = []
        for _ in range(CROWD):
            connection = crowd.enter_context(socket.create_connection(("127.0.0.1", process.port), timeout=20))
            connection.sendall(ASK)
            answers.append(connection.recv(12))

    assert [b"HTTP/1.1 200"] * CROWD == answers
