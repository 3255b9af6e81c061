"""Says of an sbatch that failed whether there may be a job all the same."""

from cableferry.schedulers.protocol import Refused, Unknown
from cableferry.schedulers.slurm.commands import Ran

# said by the controller, or by sbatch before it asked anybody: there is no job and asking again changes nothing
_FINAL = (
    "invalid partition",
    "invalid account",
    "invalid qos",
    "invalid feature",
    "invalid gres",
    "invalid generic resource",
    "invalid reservation",
    "invalid job array",
    "invalid license",
    "invalid wckey",
    "invalid dependency",
    "invalid node name",
    "invalid user id",
    "invalid time limit",
    "invalid --",
    "invalid argument",
    "requested node configuration is not available",
    "requested time limit is invalid",
    "requested partition configuration not available",
    "requested reservation",
    "memory specification can not be satisfied",
    "memory required by task is not available",
    "more processors requested than permitted",
    "node count specification invalid",
    "access/permission denied",
    "user's group not permitted to use this partition",
    "account not permitted to use this partition",
    "pathname of a file, directory or other parameter too long",
    "unrecognized option",
    "requires an argument",
    "unable to open file",
    "this does not look like a batch script",
    "batch script is empty",
    "duplicate qos",
    "requested walltime",
    "job size specification needs to be provided",
    "cpu count per node can not be satisfied",
    "cpu count specification invalid",
)

# there is no job, and there may be room for one later
_PASSING = (
    "job violates accounting/qos policy",
    "submit limit",
    "maxsubmit",
    "maxjobcount",
    "slurm temporarily unable to accept job",
    "required partition not available",
    "requested nodes are busy",
    "reservation is not usable",
    "unable to process configuration file",
    "could not establish a configuration source",
    "cannot be run",
)


def judged(ran: Ran) -> Refused | Unknown:
    """A command that failed: only words that we know are a no."""
    said = ran.trouble.lower()
    if any(words in said for words in _PASSING):
        return Refused(ran.trouble, may_pass=True)
    if ran.code is not None and any(words in said for words in _FINAL):
        return Refused(ran.trouble)
    return Unknown(ran.trouble)
