"""What is left of a job when all is said."""

from contextlib import closing
from pathlib import Path

import pytest

from cableferry.client import emx2, schemes
from cableferry.daemon.act import Hands
from cableferry.daemon.config import Config, Kept, Profile
from cableferry.daemon.decide import Effect
from cableferry.daemon.errands import Errands
from cableferry.daemon.held import Held, Stage
from cableferry.daemon.metrics import Metrics
from cableferry.schedulers.protocol import Ending, Phase, Refused, Sighting
from cableferry.schedulers.simulated import Simulated

GOOD = Sighting(Phase.ENDED, 0, ending=Ending.DONE)
BAD = Sighting(Phase.ENDED, 3, ending=Ending.FAILED)
ALL = {"input", "output", "scratch", "work"}


@pytest.mark.parametrize(
    ("keep", "end", "is_home", "left"),
    [
        ("never", GOOD, True, set()),
        ("never", GOOD, False, {"output"}),
        ("never", BAD, False, {"output"}),
        ("failed", GOOD, True, set()),
        ("failed", BAD, False, ALL),
        ("always", GOOD, True, ALL),
    ],
)
def test_folders_go_as_the_site_wishes_and_never_before_their_results_are_home(
    tmp_path: Path, keep: Kept, end: Sighting, is_home: bool, left: set[str]
) -> None:
    jobs = tmp_path / "jobs"
    config = Config(
        worker_id="w1",
        server="",
        state_dir=str(tmp_path),
        jobs_dir=str(jobs),
        profiles=(),
        keep_work_dirs=keep,
    )
    held = Held(id="j1", name="cf-j1-a1", folder="j1", processor="a", stage=Stage.DONE, end=end, is_home=is_home)
    for name in ALL:
        (jobs / "j1" / name).mkdir(parents=True)
    (jobs / "runs" / held.name).mkdir(parents=True)
    client = emx2.connect("http://127.0.0.1:1", schemes.Unsigned("w1"))
    Hands(config, Simulated(), Errands(config, client, lambda id_: False, Metrics(config)), lambda: True).clean(held)
    client.close()

    found = {path.name for path in (jobs / "j1").iterdir()} if (jobs / "j1").exists() else set()
    assert (found, (jobs / "runs" / held.name).exists()) == (left, left == ALL)


def test_nothing_is_submitted_when_another_daemon_may_have_the_place_by_now(tmp_path: Path) -> None:
    """The thread that does it may have slept since it was decided."""
    profile = Profile(processor="a", command=("true",))
    config = Config(
        worker_id="w1", server="", state_dir=str(tmp_path), jobs_dir=str(tmp_path / "jobs"), profiles=(profile,)
    )
    held = Held(id="j1", name="cf-j1-a1", folder="j1", processor="a", stage=Stage.INTENT)
    scheduler = Simulated()
    with closing(emx2.connect("http://127.0.0.1:1", schemes.Unsigned("w1"))) as client:
        hands = Hands(config, scheduler, Errands(config, client, lambda id_: False, Metrics(config)), lambda: False)
        outcome = hands.perform(Effect.SUBMIT, held)

    assert isinstance(outcome, Refused)
    assert outcome.may_pass
    assert scheduler.find(held.name, 0).tickets == ()
