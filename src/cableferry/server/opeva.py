"""The worker contract put together from the settings, and its shared folder kept up to date."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta

import structlog

from cableferry.core.policy import Limits, Repeats, Rules, Stalled, Timeouts
from cableferry.core.workers import Offer
from cableferry.dialects.opeva.contract import Contract
from cableferry.dialects.opeva.showing import Showing
from cableferry.server import networks
from cableferry.server.networks import Networks
from cableferry.server.settings import OpevaSection, Settings
from cableferry.store.share import Share
from cableferry.store.tx import News, Store
from cableferry.wire.opeva import POOL, PROCESSOR, words

log = structlog.get_logger()

MOST_ATTEMPTS = 1000
_IDLE_SECONDS = 2.0
_PAUSE_SECONDS = 0.05


class Opeva:
    """The contract of one server, and what keeps its files as the database is."""

    def __init__(self, settings: Settings, store: Store) -> None:
        section = settings.opeva
        share = Share(section.root.absolute(), int(section.folder_mode, 8))
        self.contract = Contract(
            store=store,
            rules=rules(settings),
            share=share,
            trouble=lambda: self._showing.trouble(),
            image=section.image,
            hosts=tuple(section.available_hosts),
            env=section.env,
            host_ttl=timedelta(seconds=section.host_heartbeat_ttl),
            config_limit_bytes=section.config_limit_bytes,
        )
        self._showing = Showing(self.contract)

    async def show(self) -> None:
        """Until cancelled: write what has changed as soon as it has, and look by itself now and then."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def hear(news: Iterable[News]) -> None:
            if any(item.topic == "job" for item in news) and not loop.is_closed():
                loop.call_soon_threadsafe(changed.set)

        self.contract.store.on_news(hear)
        while True:
            changed.clear()
            await self._round()
            await asyncio.sleep(_PAUSE_SECONDS)
            try:
                await asyncio.wait_for(changed.wait(), _IDLE_SECONDS)
            except TimeoutError:
                continue

    async def _round(self) -> None:
        """One that fails is tried again when its time comes."""
        try:
            await asyncio.to_thread(self._showing.round)
        except Exception:
            log.exception("shared folder not brought up to date")


def open_in(settings: Settings, store: Store) -> Opeva:
    return Opeva(settings, store)


def guests(settings: Settings) -> Networks:
    """The networks whose workers need no credentials."""
    return networks.parse(settings.opeva.allow_anonymous_workers, "opeva.allow_anonymous_workers")


def is_served(settings: Settings) -> bool:
    section = settings.opeva
    return section.shared_data is not None if section.enabled is None else section.enabled


def rules(settings: Settings) -> Rules:
    """The engine's rules for jobs of this contract."""
    section = settings.opeva
    return Rules(
        pool=POOL,
        moves=words.MOVES,
        timeouts=_timeouts(section),
        word=words.word,
        worker_silence=timedelta(seconds=section.host_heartbeat_ttl),
        stopping=words.STRICTLY_STOPPING if section.strict_transitions else words.STOPPING,
        skipped={} if section.strict_transitions else words.SKIPPED,
        repeats=Repeats.OF_STATE,
        offers=(Offer(PROCESSOR),),
        offline_after=timedelta(seconds=section.host_heartbeat_ttl + section.worker_stale_grace_seconds),
        has_preferences=True,
        preference_grace=timedelta(seconds=section.preferred_grace_seconds),
        is_projected=True,
    )


def _timeouts(section: OpevaSection) -> Timeouts:
    silent = section.job_status_ttl
    return Timeouts(
        default=Limits(claimed_seconds=silent, started_seconds=silent, after_claimed=Stalled.PENDING),
        most_attempts=MOST_ATTEMPTS,
        unheard_seconds=section.queue_claim_ttl,
    )
