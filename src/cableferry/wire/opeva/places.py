"""Names of configurations and of jobs, as far as they may become paths below the shared folder."""

import re

from cableferry.core.errors import Invalid, Kind

CONFIGS = "configs"
LONGEST = 200
_JOB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_SUFFIXES = (".yaml", ".yml")

Place = tuple[str, ...]


def is_job_id(text: str) -> bool:
    """Whether a text may be a job's id; what may not is no job, and never part of a path."""
    return _JOB_ID.fullmatch(text) is not None


def named_config(path: str) -> Place:
    """Where a configuration lies that is named with or without its folder, below that folder alone."""
    parts: list[str] = []
    for part in path.strip().split("/"):
        if part == "..":
            if not parts:
                raise _invalid(path)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if parts[:1] == [CONFIGS]:
        parts = parts[1:]
    if not parts or not all(map(_is_safe, parts)) or len("/".join(parts).encode()) > LONGEST:
        raise _invalid(path)
    return (CONFIGS, *parts)


def saved_config(name: str) -> Place:
    """Where a configuration is to lie under a name of its own: one file, in no other folder."""
    if "/" in name or "\\" in name or not _is_safe(name) or len(name.encode()) > LONGEST:
        raise Invalid("Invalid file name", Kind.BAD_PATH)
    return (CONFIGS, name if name.lower().endswith(_SUFFIXES) else f"{name}.yaml")


def is_config(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES) and not name.startswith(".")


def _is_safe(part: str) -> bool:
    return part.isprintable() and not part.startswith(".") and part.strip() == part and part != ""


def _invalid(path: str) -> Invalid:
    return Invalid(f"Invalid config_path: {path[:80]!r} leads nowhere below {CONFIGS}", Kind.BAD_PATH)
