"""A daemon reduced to its claims, over one kept connection."""

import http.client
import json
import random
import time
import uuid
from types import TracebackType
from typing import Any, Self


class Caller:
    """Claims until no job is left, and knows what it was told it holds."""

    def __init__(self, port: int, worker: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._worker = worker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def poll(self, chance: random.Random) -> list[str]:
        """Look at the list and try for some that it sees, as daemons in the field do."""
        mine = []
        while seen := self._list():
            for job_id in chance.sample(seen, min(len(seen), 5)):
                status, answer = self._call("POST", f"/api/hpc/jobs/{job_id}/claim", {"worker_id": self._worker})
                assert status in (200, 409), answer
                mine += [job_id] if status == 200 else []
        return mine

    def batch(self, chance: random.Random) -> list[str]:
        """Ask for a few at a time, until there are none; jobs that another claim has in hand count as none."""
        mine = []
        while self._list():
            while claimed := self._claim_many(chance.randint(1, 5)):
                mine += claimed
        return mine

    def _list(self) -> list[str]:
        status, answer = self._call("GET", "/api/hpc/jobs?status=PENDING&processor=embed&profile=gpu&limit=20")
        assert status == 200, answer
        return [job["id"] for job in answer["items"]]

    def _claim_many(self, most: int) -> list[str]:
        status, answer = self._call("POST", "/api/hpc/jobs/claim", {"worker_id": self._worker, "limit": most})
        assert status == 200, answer
        return [job["id"] for job in answer["items"]]

    def _call(self, method: str, target: str, body: object = None) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body)
        headers = {
            "X-EMX2-API-Version": "2025-01",
            "X-Request-Id": str(uuid.uuid4()),
            "X-Timestamp": str(int(time.time())),
            "X-Worker-Id": self._worker,
            "Content-Type": "application/json",
        }
        self._connection.request(method, target, content, headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())
