"""What a command sees of its job, and which wishes for its environment are refused."""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
# names that make programs load or run something, or that say who the job is
_DANGEROUS = re.compile(
    r"LD_.*|DYLD_.*|PYTHON.*|PERL.*|RUBY.*|NODE_.*|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|BASH_.*|GCONV_PATH|GIT_.*|GLIBC_.*"
    r"|ENV|IFS|PATH|HOME|SHELL|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|CDPATH|GLOBIGNORE|EDITOR|PAGER|TMPDIR|HOSTALIASES"
    r"|MALLOC_.*|NLSPATH|LOCPATH|RES_OPTIONS|ZDOTDIR|HPC_.*|EMX2_.*|CABLEFERRY_.*|SLURM_.*|APPTAINER.*|SINGULARITY.*",
    re.IGNORECASE,
)


class BadParameters(Exception):
    """Parameters that no command is started with."""


class Places(msgspec.Struct, frozen=True):
    """The three folders of one attempt."""

    input: Path
    output: Path
    work: Path


def places(folder: Path) -> Places:
    return Places(folder / "input", folder / "output", folder / "work")


def environment(job_id: str, parameters: bytes, where: Places, given: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a command: what the site gives, what the job wishes, what the job is."""
    text = _plain(parameters)
    return {
        **given,
        **_wishes(text),
        "EMX2_JOB_ID": job_id,
        "HPC_JOB_ID": job_id,
        "HPC_INPUT_DIR": str(where.input),
        "HPC_OUTPUT_DIR": str(where.output),
        "HPC_WORK_DIR": str(where.work),
        "HPC_PARAMETERS": text,
    }


def _plain(parameters: bytes) -> str:
    """The parameters as JSON text; some callers send that text inside a JSON string."""
    try:
        value = msgspec.json.decode(parameters)
        text = value if isinstance(value, str) else parameters.decode()
        if not isinstance(msgspec.json.decode(text), dict | None):
            raise BadParameters("the parameters are not an object")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadParameters(f"the parameters are no JSON: {error}") from error
    return text


def _wishes(text: str) -> dict[str, str]:
    wished = (msgspec.json.decode(text) or {}).get("environment")
    if wished is None:
        return {}
    if not isinstance(wished, dict):
        raise BadParameters("parameters.environment is not an object")
    return {_name(name): _value(name, value) for name, value in wished.items()}


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadParameters(f"parameters.environment: {name[:40]!r} is no name of a variable")
    if _DANGEROUS.fullmatch(name):
        raise BadParameters(f"parameters.environment: {name} may not be set by a job")
    return name


def _value(name: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case str() if "\0" not in value:
            return value
        case _:
            raise BadParameters(f"parameters.environment: {name} is neither text nor a number")
