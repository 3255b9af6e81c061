"""What the code can say to an operator is told: log lines, metrics, commands, exit codes."""

import inspect
import re
from typing import get_args

from cableferry.cli import exits
from cableferry.core import explain
from cableferry.daemon import allowed, reference, worker_file
from cableferry.server import metrics as measured
from cableferry.server import pages as server_pages
from tests.docs import pages
from tools.docs import cli, events, logs, metrics


def test_every_log_line_is_told_and_no_other() -> None:
    assert {line.event for line in logs.written()} == set(events.TOLD)


def test_every_metric_has_a_comment() -> None:
    assert list(get_args(measured.Name)) == list(metrics.comments())


def test_every_command_says_what_it_does() -> None:
    assert [] == [path for path, command in cli.commands() if not (command.help or "").strip().endswith(".")]


def test_every_option_says_what_it_means() -> None:
    options = [(path, option) for path, command in cli.commands() for option in cli.options(command)]

    assert [] == [(path, option.name) for path, option in options if not option.help]


def test_every_exit_code_has_a_meaning() -> None:
    assert list(exits.Exit) == list(exits.MEANINGS)


def test_every_answer_of_explain_is_told() -> None:
    page = (pages.DOCS / "how-to/why-a-job-waits.md").read_text()

    assert [] == [code for code in explain.Code if f"`{code}`" not in page]


def test_every_setting_of_the_local_worker_is_told() -> None:
    page = (pages.DOCS / "how-to/local-worker.md").read_text()
    names = [*worker_file.Settings.__struct_fields__, *worker_file.Processor.__struct_fields__]

    assert [] == [name for name in names if f"`{name}`" not in page]


def test_every_key_of_the_daemons_configuration_is_told() -> None:
    page = (pages.DOCS / "how-to/run-a-daemon.md").read_text()
    sections = (
        reference.Emx2Section,
        reference.WorkerSection,
        reference.SlurmSection,
        reference.ApptainerSection,
        reference.ProfileSection,
        allowed.InputsSection,
        allowed.BucketSection,
        reference.MetricsSection,
    )

    assert [] == [key for section in sections for key in section.__struct_fields__ if f"`{key}`" not in page]


def test_every_page_of_the_server_is_told() -> None:
    told = (pages.DOCS / "http.md").read_text()
    served = re.findall(r'Route\("([^"]+)"', inspect.getsource(server_pages))

    assert "/metrics" in served
    assert [] == [path for path in served if f"`{path}`" not in told]
