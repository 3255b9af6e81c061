"""New identifiers: UUIDv7, so that they sort by the time they were made."""

import secrets
import uuid
from datetime import datetime

from cableferry.store.tx import micros


def new(now: datetime) -> str:
    millis = (micros(now) or 0) // 1000
    value = (millis & (1 << 48) - 1) << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))
