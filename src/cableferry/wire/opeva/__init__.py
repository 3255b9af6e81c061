"""The worker contract as words, bodies and files, shared by server, worker and command line."""

POOL = "opeva"
PROCESSOR = "simulation"
"""What every job of the contract wants done; what that is stands in the job's configuration."""
FENCING = "attempt_fencing_v1"
"""The capability of workers that prove by a token which attempt they hold."""
