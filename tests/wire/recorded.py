"""Bodies as the three generations of daemons in the field send them, byte for byte."""

REGISTER = {
    "every daemon, one profile": (
        b'{"worker_id": "hpc-headnode-01", "hostname": "login-1.hpc.example", "capabilities":'
        b' [{"processor": "text-embedding", "profile": "gpu-medium", "max_concurrent_jobs": 4}]}'
    ),
    "every daemon, two profiles with the same number": (
        b'{"worker_id": "hpc-headnode-01", "hostname": "login-1", "capabilities":'
        b' [{"processor": "text-embedding", "profile": "gpu-medium", "max_concurrent_jobs": 10},'
        b' {"processor": "align", "profile": "cpu", "max_concurrent_jobs": 10}]}'
    ),
    "a daemon without profiles": b'{"worker_id": "w", "hostname": "h", "capabilities": []}',
}

CLAIM = b'{"worker_id": "hpc-headnode-01"}'

TRANSITIONS = {
    "S, submitted": (
        b'{"status": "SUBMITTED", "worker_id": "hpc-headnode-01", "detail": "Slurm job 4711", "slurm_job_id": "4711"}'
    ),
    "S, started": b'{"status": "STARTED", "worker_id": "hpc-headnode-01", "detail": "Slurm state: STARTED"}',
    "S, completed with its artifact": (
        b'{"status": "COMPLETED", "worker_id": "hpc-headnode-01", "detail": "Slurm state: COMPLETED; output artifact:'
        b' 550e8400-e29b-41d4-a716-446655440000", "output_artifact_id": "550e8400-e29b-41d4-a716-446655440000"}'
    ),
    "F, queue report": (
        b'{"status": "SUBMITTED", "worker_id": "hpc-headnode-01", "detail":'
        b' "slurm_state=PENDING; reason=Resources; queued=300s", "slurm_job_id": "4711"}'
    ),
    "F, complete with both artifacts": (
        b'{"status": "COMPLETED", "worker_id": "hpc-headnode-01", "detail": "slurm_state=COMPLETED; exit_code=0:0;'
        b' node=gpu-7; elapsed=00:01:02", "slurm_job_id": "4711", "output_artifact_id":'
        b' "550e8400-e29b-41d4-a716-446655440000", "log_artifact_id": "550e8400-e29b-41d4-a716-446655440001"}'
    ),
    "N, progress": (
        b'{"status": "STARTED", "worker_id": "hpc-headnode-01", "detail": "progress: training; epoch 3; 50%",'
        b' "phase": "training", "message": "epoch 3", "progress": 0.5}'
    ),
    "N, progress as a whole number": b'{"status": "STARTED", "worker_id": "w", "phase": "done", "progress": 1}',
    "N, failure from a claim": (
        b'{"status": "FAILED", "worker_id": "hpc-headnode-01", "detail": "input_hash_mismatch: expected 00, found 01"}'
    ),
}
