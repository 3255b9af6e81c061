"""Where two editions of the protocol contradict each other, the setting decides."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry.server.settings import Emx2Section
from cableferry.testing import servers
from tests.dialects.desk import Desk

HELD = ("CLAIMED", "SUBMITTED", "STARTED")


@pytest.fixture
def latest(tmp_path: Path) -> Iterator[Desk]:
    settings = servers.settings_in(tmp_path)
    with servers.running(msgspec.structs.replace(settings, emx2=Emx2Section(contract="latest"))) as running:
        yield Desk(running.client(), "w", "p")


@pytest.mark.parametrize("status", ["PENDING", *HELD])
def test_the_latest_edition_wants_a_job_cancelled_before_it_is_deleted(latest: Desk, status: str) -> None:
    job = latest.job_in(status)

    refused = latest.client.call("DELETE", f"/api/hpc/jobs/{job}")
    latest.client.post(f"/api/hpc/jobs/{job}/cancel")
    deleted = latest.client.call("DELETE", f"/api/hpc/jobs/{job}")

    assert (refused.status, refused.kind, refused.json["current_state"]) == (409, "not-ended", status)
    assert "cancel it first" in str(refused.json["detail"])
    assert deleted.status == 204


@pytest.mark.parametrize(
    ("contract", "asked", "status"),
    [("seed", None, 204), ("latest", None, 409), ("seed", "reject", 409), ("latest", "cancel", 204)],
)
def test_the_setting_for_deletion_wins_over_the_edition(
    tmp_path: Path, contract: str, asked: str | None, status: int
) -> None:
    section = msgspec.convert({"contract": contract, "delete_nonterminal": asked}, Emx2Section)
    settings = msgspec.structs.replace(servers.settings_in(tmp_path), emx2=section)
    with servers.running(settings) as running:
        desk = Desk(running.client(), "w", "p")
        job = desk.job_in("STARTED")

        assert running.client().call("DELETE", f"/api/hpc/jobs/{job}").status == status
