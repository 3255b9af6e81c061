"""Slurm, through its own commands: sbatch, squeue, sacct, scancel, scontrol."""
