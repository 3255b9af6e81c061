"""What a command sees of its job, and what a job may not wish for."""

import json
from pathlib import Path

import pytest

from cableferry.daemon import environment

WHERE = environment.places(Path("/jobs/j1"))


def _seen(parameters: object) -> dict[str, str]:
    return environment.own("j1", json.dumps(parameters).encode(), WHERE)


def test_a_command_sees_its_job_and_nothing_of_ours() -> None:
    assert _seen({"n": 1}) == {
        "EMX2_JOB_ID": "j1",
        "HPC_JOB_ID": "j1",
        "HPC_INPUT_DIR": "/jobs/j1/input",
        "HPC_OUTPUT_DIR": "/jobs/j1/output",
        "HPC_WORK_DIR": "/jobs/j1/work",
        "HPC_PARAMETERS": '{"n": 1}',
    }


def test_parameters_inside_a_json_string_are_taken_out_of_it() -> None:
    assert _seen('{"n": 1}')["HPC_PARAMETERS"] == '{"n": 1}'


def test_no_parameters_are_null() -> None:
    assert _seen(None)["HPC_PARAMETERS"] == "null"


def test_wishes_arrive_byte_for_byte() -> None:
    wished = {"WORD": "$(touch x) `y` 'é'\n\"", "COUNT": 3, "IS_ON": True}

    seen = _seen({"environment": wished})

    assert [seen[name] for name in wished] == ["$(touch x) `y` 'é'\n\"", "3", "true"]


@pytest.mark.parametrize(
    "name",
    ["LD_PRELOAD", "ld_preload", "PATH", "BASH_ENV", "BASH_FUNC_x", "PYTHONPATH", "IFS", "ENV", "HPC_JOB_ID", "HOME"],
)
def test_a_dangerous_name_is_refused(name: str) -> None:
    with pytest.raises(environment.BadParameters, match="may not be set"):
        _seen({"environment": {name: "x"}})


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A=B", "A B", "é", "A\n", "A" * 200])
def test_a_name_that_is_no_variable_is_refused(name: str) -> None:
    with pytest.raises(environment.BadParameters, match="no name"):
        _seen({"environment": {name: "x"}})


@pytest.mark.parametrize("value", [None, [], {}, "a\0b"])
def test_a_value_that_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(environment.BadParameters, match="neither text nor a number"):
        _seen({"environment": {"A": value}})


@pytest.mark.parametrize("parameters", [[], 3, "no json", {"environment": "A=B"}])
def test_parameters_of_another_shape_are_refused(parameters: object) -> None:
    with pytest.raises(environment.BadParameters):
        _seen(parameters)
