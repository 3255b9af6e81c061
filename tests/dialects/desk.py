"""A worker and its jobs, in the few steps that every story begins with."""

from typing import Any

from cableferry.testing.servers import Client, Reply

HELD = ("CLAIMED", "SUBMITTED", "STARTED")


class Desk:
    """Speaks for one worker that offers one processor."""

    def __init__(self, client: Client, worker: str, processor: str) -> None:
        self.client = client
        self.worker = worker
        self.processor = processor

    def register(self, **more: Any) -> Reply:
        offer = {"processor": self.processor, "profile": "small", "max_concurrent_jobs": 100}
        return self.client.post(
            "/api/hpc/workers/register",
            {"worker_id": self.worker, "hostname": "login-1", "capabilities": [offer], **more},
        )

    def create(self, **more: Any) -> str:
        body = {"processor": self.processor, "profile": "small", **more}
        return str(self.client.post("/api/hpc/jobs", body).json["id"])

    def claim(self, job: str, **more: Any) -> Reply:
        return self.client.post(f"/api/hpc/jobs/{job}/claim", {"worker_id": self.worker, **more})

    def report(self, job: str, status: str, **more: Any) -> Reply:
        return self.client.post(f"/api/hpc/jobs/{job}/transition", {"status": status, "worker_id": self.worker, **more})

    def job(self, job: str) -> dict[str, Any]:
        return self.client.get(f"/api/hpc/jobs/{job}").json

    def history(self, job: str) -> list[dict[str, Any]]:
        items: Any = self.client.get(f"/api/hpc/jobs/{job}/transitions").json["items"]
        return list(items)

    def job_in(self, status: str) -> str:
        """A job that has been brought to this status the usual way."""
        self.register()
        job = self.create()
        if status == "CANCELLED":
            self.client.post(f"/api/hpc/jobs/{job}/cancel")
        elif status != "PENDING":
            self._lead(job, status)
        return job

    def _lead(self, job: str, status: str) -> None:
        self.claim(job)
        for each in HELD[1:]:
            if status in HELD and HELD.index(each) > HELD.index(status):
                return
            self.report(job, each)
        if status not in HELD:
            self.report(job, status)
