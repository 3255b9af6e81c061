"""Runs one command to its end and leaves a note of how it ended, whoever else is still there to see it.

It is started by path, with nothing of the project or of site-packages on its way:

    wrapper.py RUN_DIR READY_FD STDOUT STDERR -- COMMAND...
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from types import FrameType

NO_SUCH_PROGRAM = 127
NOT_RUNNABLE = 126
NOTE_BYTES = 64


def main(arguments: list[str]) -> int:
    run_dir, ready, stdout, stderr, _, *command = arguments
    if os.fork():
        # nobody's child: whoever started us need neither wait for the end nor be there
        return 0
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # a handler and not SIG_IGN: the command must not inherit our deafness
        signal.signal(number, _hear)
    _reserve(run_dir)
    if not _is_first(run_dir):
        return 0
    with contextlib.suppress(BrokenPipeError):
        # whoever started us may have died since, and the command is ours to run all the same
        os.write(int(ready), str(os.getpid()).encode())
    os.close(int(ready))
    _note_end(run_dir, _run(command, stdout, stderr))
    return 0


def _hear(number: int, frame: FrameType | None) -> None:
    """Stay: the command hears the signal too, and how it ends is still to be noted."""


def _run(command: list[str], stdout: str, stderr: str) -> dict[str, int]:
    with open(stdout, "ab") as out, open(stderr, "ab") as err:
        try:
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False).returncode
        except FileNotFoundError as error:
            err.write(f"{error}\n".encode())
            code = NO_SUCH_PROGRAM
        except OSError as error:
            err.write(f"{error}\n".encode())
            code = NOT_RUNNABLE
    return {"signal": -code} if code < 0 else {"exit_code": code}


def _is_first(run_dir: str) -> bool:
    """A link comes into being once: whoever started us may have died and somebody else have started another."""
    mine = os.path.join(run_dir, f"run.{os.getpid()}.json")
    with open(mine, "w") as file:
        json.dump({"pid": os.getpid()}, file)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(mine, os.path.join(run_dir, "run.json"))
    except FileExistsError:
        return False
    finally:
        os.unlink(mine)
    return True


def _reserve(run_dir: str) -> None:
    """Room for the last note, before anything runs: at the end there may be none."""
    with open(_part(run_dir), "wb") as file:
        file.write(b" " * NOTE_BYTES)
        file.flush()
        os.fsync(file.fileno())


def _note_end(run_dir: str, content: dict[str, int]) -> None:
    """All of the note or none of it, and on the disk."""
    with open(_part(run_dir), "r+b") as file:
        file.write(json.dumps(content).encode().ljust(NOTE_BYTES))
        file.flush()
        os.fsync(file.fileno())
    os.rename(_part(run_dir), os.path.join(run_dir, "exit.json"))


def _part(run_dir: str) -> str:
    return os.path.join(run_dir, f"exit.{os.getpid()}.part")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
