"""Slurm and its kin, each behind the same few verbs."""

from cableferry.schedulers import local, simulated, slurm

ROLL_CALL = (local, simulated, slurm)
MECHANISM = ("protocol", "shared", "wrapper")
