"""From settings to what the engine and the dialects are configured with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta

import msgspec

from cableferry.core.policy import Limits, Rules, Timeouts
from cableferry.core.retention import Failures, Lifetimes, Policy, Retention, Unused
from cableferry.dialects.emx2.contract import Contract
from cableferry.dialects.resumable import Resumption
from cableferry.dialects.s3.gateway import Gateway
from cableferry.dialects.ui.desk import Desk
from cableferry.engine import direct
from cableferry.engine.collecting import Keeping
from cableferry.engine.hashing import Hashes
from cableferry.engine.reading import Depot
from cableferry.engine.sessions import Patience
from cableferry.server import effective
from cableferry.server.authenticate import Trust
from cableferry.server.contracts import BESIDE, Served, served
from cableferry.server.networks import Networks
from cableferry.server.passwords import Passwords
from cableferry.server.settings import LimitsSection, RetentionSection, Settings
from cableferry.server.stowing import Stowing
from cableferry.store.tx import Store
from cableferry.wire.emx2 import words
from cableferry.wire.ui.overviews import SweepItem


class About(msgspec.Struct, frozen=True):
    """What the server tells of itself: where its settings came from, and what it did lately without being asked."""

    sources: Mapping[str, str] = {}
    sweeps: Callable[[], Sequence[SweepItem]] = tuple


def services(
    settings: Settings, trust: Trust, depot: Depot, beside: Mapping[str, Served], about: About
) -> Mapping[str, object]:
    """What each dialect's endpoints are given, by the dialect's name; one that is given nothing is not served."""
    resuming = resumption(settings, depot)
    always = {
        "emx2": contract(settings, trust, depot, resuming),
        "ui": desk(settings, depot.store, trust, about),
        "s3": Gateway(depot, settings.artifacts.upload_limit_bytes, resuming.limit_bytes, resuming.lifetime),
        "graphql": {name: rules.pool for name, rules in contracts(settings).items()},
        "uploads": resuming,
    }
    return always | {name: each.contract for name, each in beside.items()}


def beside(settings: Settings, store: Store) -> Mapping[str, Served]:
    """What is served beside the usual contract."""
    return {name: each.open_in(settings, store) for name, each in served(settings).items()}


def guests(settings: Settings) -> Mapping[str, Networks]:
    """By dialect, the networks whose workers need no credentials."""
    return {name: each.guests(settings) for name, each in BESIDE.items()}


def resumption(settings: Settings, depot: Depot) -> Resumption:
    section = settings.artifacts
    return Resumption(
        depot=depot,
        hashes=Hashes(depot),
        limit_bytes=section.resumable_limit_bytes,
        lifetime=timedelta(seconds=section.upload_lifetime_seconds),
        part_bytes=section.upload_part_bytes,
        direct_seconds=section.direct_seconds,
        is_direct=direct.is_possible(depot, section.direct_seconds),
    )


def desk(settings: Settings, store: Store, trust: Trust, about: About) -> Desk:
    auth = settings.auth
    return Desk(
        store=store,
        contracts=contracts(settings),
        passwords=Passwords(),
        patience=Patience(auth.login_attempts, timedelta(seconds=auth.login_delay_seconds)),
        idle=timedelta(hours=auth.session_hours),
        seal=trust.vault.seal,
        configuration=effective.effective(settings, about.sources),
        first_token=trust.first_token,
        sweeps=about.sweeps,
    )


def contract(settings: Settings, trust: Trust, depot: Depot, resumption: Resumption) -> Contract:
    return Contract(
        edition=settings.emx2.contract,
        rules=rules(settings),
        seal=trust.vault.seal,
        depot=depot,
        keeping=keeping(settings),
        resumption=resumption,
        rotation_grace_seconds=settings.auth.rotation_grace_seconds,
        long_poll_seconds=settings.emx2.long_poll_seconds,
        log_limit_bytes=settings.logs.limit_bytes,
        worker_auth_mode=lambda: "per-worker-hmac" if trust.is_on else "off",
    )


def stowing(settings: Settings) -> Stowing:
    section = settings.logs
    return Stowing(timedelta(seconds=section.settle_seconds), timedelta(hours=section.keep_hours))


def keeping(settings: Settings) -> Keeping:
    """How long artifacts and bytes are kept."""
    section = settings.artifacts.retention
    return Keeping(
        retention=Retention(tuple(_policies(section)), section.results == "freed"),
        patience=timedelta(hours=section.stalled_hours),
        grace=timedelta(minutes=section.grace_minutes),
        orphans=timedelta(hours=section.orphan_hours),
    )


def _policies(section: RetentionSection) -> Iterator[Policy]:
    """Those that the settings ask for; without any, artifacts are deleted by hand alone."""
    if section.failed_days is not None:
        yield Failures(timedelta(days=section.failed_days))
    if section.days:
        yield Lifetimes({type_: timedelta(days=days) for type_, days in section.days.items()})
    if section.unused_days is not None:
        yield Unused(timedelta(days=section.unused_days))


def pools(settings: Settings) -> tuple[Rules, ...]:
    """The rules of every contract that this server keeps jobs for."""
    return tuple(contracts(settings).values())


def contracts(settings: Settings) -> dict[str, Rules]:
    """The same by the names of the contracts, the usual one first."""
    return {"emx2": rules(settings)} | {name: each.rules(settings) for name, each in served(settings).items()}


def rules(settings: Settings) -> Rules:
    """The engine's rules for jobs of the EMX2 protocol."""
    by_contract = "cancel" if settings.emx2.contract == "seed" else "reject"
    return Rules(
        pool=settings.emx2.pool,
        moves=words.MOVES,
        timeouts=timeouts(settings),
        word=words.word,
        session_ttl=timedelta(seconds=settings.workers.session_ttl_seconds),
        worker_silence=timedelta(seconds=settings.workers.silence_seconds),
        ends_running_on_delete=(settings.emx2.delete_nonterminal or by_contract) == "cancel",
    )


def timeouts(settings: Settings) -> Timeouts:
    section = settings.timeouts
    return Timeouts(
        default=Limits(
            section.claimed_seconds, section.submitted_seconds, section.started_seconds, section.after_claimed
        ),
        profiles=_limits(section.profiles),
        processors=_limits(section.processors),
        grace_seconds=section.grace_seconds,
        most_attempts=section.most_attempts,
    )


def _limits(sections: Mapping[str, LimitsSection]) -> dict[str, Limits]:
    return {name: Limits(*msgspec.structs.astuple(section)) for name, section in sections.items()}
