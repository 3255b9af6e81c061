"""The ways a worker talks to its server, each behind the same exchange."""

from cableferry.daemon.upstreams import plain, synced

ROLL_CALL = (plain, synced)
MECHANISM = ("protocol",)
