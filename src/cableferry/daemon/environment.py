"""What a command sees of its job, and which wishes for its environment are refused."""

import re
from pathlib import Path

import msgspec

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
# names that make programs load or run something, or that say who the job is
_DANGEROUS = re.compile(
    r"LD_.*|DYLD_.*|PYTHON.*|PERL.*|RUBY.*|NODE_.*|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|BASH_.*|GCONV_PATH|GIT_.*|GLIBC_.*"
    r"|ENV|IFS|PATH|HOME|SHELL|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|CDPATH|GLOBIGNORE|EDITOR|PAGER|TMPDIR|HOSTALIASES"
    r"|MALLOC_.*|NLSPATH|LOCPATH|RES_OPTIONS|TERMINFO|OPENSSL_.*|SSL_CERT_.*|CURL_.*|KRB5.*|ZDOTDIR"
    r"|PMI_.*|PMIX_.*|OMPI_.*|SBATCH_.*|SRUN_.*|HPC_.*|EMX2_.*|CABLEFERRY_.*|SLURM_.*|APPTAINER.*|SINGULARITY.*",
    re.IGNORECASE,
)

# a kernel takes no longer text in an environment
_MOST_BYTES = 128 * 1024 - 1024


class BadParameters(Exception):
    """Parameters that no command is started with."""


class Places(msgspec.Struct, frozen=True):
    """The three folders of one attempt."""

    input: Path
    output: Path
    work: Path


def places(folder: Path) -> Places:
    return Places(folder / "input", folder / "output", folder / "work")


def own(job_id: str, parameters: bytes, where: Places) -> dict[str, str]:
    """What a command sees of its job: what the job wishes, and what it is."""
    text = plain(parameters)
    if len(text.encode()) > _MOST_BYTES:
        raise BadParameters(f"the parameters take more than {_MOST_BYTES} bytes, which no environment holds")
    return {
        **_wishes(text),
        "EMX2_JOB_ID": job_id,
        "HPC_JOB_ID": job_id,
        "HPC_INPUT_DIR": str(where.input),
        "HPC_OUTPUT_DIR": str(where.output),
        "HPC_WORK_DIR": str(where.work),
        "HPC_PARAMETERS": text,
    }


def arguments(parameters: bytes) -> tuple[str, ...]:
    """The words that a job adds to its container's entrypoint."""
    said = _said(parameters).get("args")
    if said is None:
        return ()
    if not isinstance(said, list):
        raise BadParameters("parameters.args is not a list")
    return tuple(_value(f"args[{place}]", value) for place, value in enumerate(said))


def command(parameters: bytes) -> str | None:
    """The shell command of jobs as they once were; only a site that allows it asks for it."""
    said = _said(parameters).get("command")
    return said if isinstance(said, str) and said and "\0" not in said else None


def _said(parameters: bytes) -> dict[str, object]:
    return msgspec.json.decode(plain(parameters), type=dict[str, object] | None) or {}


def plain(parameters: bytes) -> str:
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
