"""One daemon for one folder, on one machine and on two that share a disk."""

import os
import time
from pathlib import Path

import pytest

from cableferry.daemon.config import BadConfig
from cableferry.daemon.sole import FRESH_SECONDS, Sole

OTHER = '{"host": "login2", "boot": "b", "pid": 1}'


def test_a_second_daemon_is_refused_until_the_first_has_gone(tmp_path: Path) -> None:
    first = Sole(tmp_path / "state", tmp_path / "jobs")
    with pytest.raises(BadConfig, match="another worker uses"):
        Sole(tmp_path / "other", tmp_path / "jobs")
    first.release()

    Sole(tmp_path / "other", tmp_path / "jobs").release()


@pytest.mark.parametrize(("age", "is_refused"), [(10, True), (FRESH_SECONDS + 10, False)])
def test_another_machine_counts_as_long_as_it_was_here_lately(tmp_path: Path, age: float, is_refused: bool) -> None:
    (tmp_path / "worker.lock").write_text(OTHER)
    os.utime(tmp_path / "worker.lock", (time.time() - age,) * 2)

    if is_refused:
        with pytest.raises(BadConfig, match="another worker on login2"):
            Sole(tmp_path, None)
        assert (tmp_path / "worker.lock").read_text() == OTHER
    else:
        Sole(tmp_path, None).release()


def test_whoever_has_left_in_good_order_is_not_waited_for(tmp_path: Path) -> None:
    sole = Sole(tmp_path, None)
    sole.refresh()
    sole.release()

    assert (tmp_path / "worker.lock").read_bytes() == b""
