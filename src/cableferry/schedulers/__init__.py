"""Slurm and its kin, each behind the same few verbs."""
