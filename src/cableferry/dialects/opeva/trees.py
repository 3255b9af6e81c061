"""Reads a tree of the shared folder's layout that another server has written, into the database."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import Raw

from cableferry.core.errors import Refusal
from cableferry.core.jobs import Draft, Payload, Preference, State, Wish
from cableferry.dialects.opeva import yamls
from cableferry.dialects.opeva.contract import Contract
from cableferry.engine import adopting
from cableferry.engine.adopting import Found
from cableferry.store import configs
from cableferry.store.share import Share
from cableferry.store.tx import Tx
from cableferry.wire.opeva import PROCESSOR, files, places, words
from cableferry.wire.opeva.files import Launched

ACTOR = "import"
MOST_BYTES = 64 * 1024 * 1024
Facts = dict[str, object]
_REMARKS = ("container_id", "container_name", "exit_code", "error", "details")


class Imported(NamedTuple):
    """Which jobs were taken over, which were known already, and which could not be read and why."""

    taken: list[str]
    known: list[str]
    unreadable: dict[str, str]


def take_over(ours: Contract, tree: Share) -> Imported:
    """Every job of the tree in a transaction of its own: one that is damaged keeps no other from being read."""
    imported = Imported([], [], {})
    tracked = _facts(tree, ("job_track.json",)) or {}
    for id_ in _ids(tree, tracked):
        try:
            found = _found(tree, id_, tracked.get(id_))
            text = _config(ours, tree, found)
        except (OSError, ValueError, Refusal) as error:
            imported.unreadable[id_] = str(error)
            continue
        is_taken = ours.store.write(partial(_take, ours=ours, found=found, text=text))
        (imported.taken if is_taken else imported.known).append(id_)
    return imported


def _ids(tree: Share, tracked: Facts) -> Iterator[str]:
    """Jobs in the order of the registry, then those that it does not know."""
    known = [*tracked, *sorted(set(tree.folders(("jobs",))) - set(tracked))]
    yield from (id_ for id_ in known if places.is_job_id(id_))


def _found(tree: Share, id_: str, registered: object) -> Found:
    known = registered if isinstance(registered, dict) else {}
    info = _facts(tree, ("jobs", id_, "job_info.json")) or {}
    status = _facts(tree, ("jobs", id_, "status.json")) or {}
    facts: Facts = {**known, **info, **status}
    word = str(status.get("status") or known.get("status") or "")
    if word not in words.KNOWN or word in words.NOWHERE:
        raise ValueError(f"nothing says where it is: {word[:40]!r}")
    is_stopping = word == words.STOP_REQUESTED
    meant = words.SAID["running" if is_stopping else word]
    state = State.READY if meant.state is State.NEW else meant.state
    said = {name: facts[name] for name in _REMARKS if facts.get(name) not in (None, "")}
    worker = _text(facts, "worker_id") or _text(facts, "target_host") or "unknown"
    return Found(
        id=id_,
        draft=_draft(tree, id_, facts),
        state=state,
        worker=worker,
        payload=Payload(worker, "Imported", remarks=Raw(msgspec.json.encode(said)) if said else None),
        cause=meant.cause,
        wish=Wish.STOP if is_stopping else None,
    )


def _draft(tree: Share, id_: str, facts: Facts) -> Draft:
    queued = _facts(tree, ("queue", f"{id_}.json")) or {}
    host = _text(queued, "preferred_host") or _text(facts, "preferred_host")
    is_pinned = (queued or facts).get("require_host") is True
    place = places.named_config(_text(facts, "config_path") or f"{id_}.yaml")
    launched = Launched(
        job_name=files.slug(_text(facts, "job_name") or id_),
        config_path="/".join(place),
        experiment_name=_text(facts, "experiment_name") or "UnnamedExperiment",
        run_name=_text(facts, "run_name") or "UnnamedRun",
        own_config="/".join(("jobs", id_, files.CONFIG)),
    )
    return Draft(
        PROCESSOR,
        created_by=ACTOR,
        parameters=Raw(msgspec.json.encode(launched)),
        preference=Preference(host, is_pinned) if host else None,
    )


def _config(ours: Contract, tree: Share, found: Found) -> str | None:
    """The text that the job was launched with, as far as it is still there."""
    path = msgspec.json.decode(found.draft.parameters, type=Launched).config_path
    content = tree.read(tuple(path.split("/")), 0, ours.config_limit_bytes + 1)
    return None if content is None else yamls.text(content, ours.config_limit_bytes)


def _take(tx: Tx, ours: Contract, found: Found, text: str | None) -> bool:
    job = adopting.adopt(tx, ours.rules, found)
    if job is not None and text is not None:
        configs.keep(tx, job.key, text)
    return job is not None


def _facts(tree: Share, place: tuple[str, ...]) -> Facts | None:
    """A JSON object; what is none is as if it were not there."""
    content = tree.read(place, 0, MOST_BYTES)
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _text(facts: Facts, name: str) -> str | None:
    value = facts.get(name)
    return value if isinstance(value, str) and value and "\0" not in value else None
