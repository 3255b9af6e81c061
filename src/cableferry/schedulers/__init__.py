"""Slurm and its kin, each behind the same few verbs."""

from cableferry.schedulers import local

ROLL_CALL = (local,)
MECHANISM = ("protocol", "wrapper")
