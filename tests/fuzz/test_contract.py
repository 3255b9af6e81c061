"""Whatever is made up from the OpenAPI document is answered as the document says, by whoever it is sent."""

import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from cableferry.server import openapi
from tests.fuzz.conftest import Ground

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.xdist_group("fuzz"),
    # schemathesis draws some of what it makes up from a generator of its own
    pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning"),
]

EXAMPLES = 20
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(msgspec.json.decode(msgspec.json.encode(openapi.document())))


def _ends(operation: APIOperation) -> bool:
    """Whether its answer comes to an end by itself; a feed goes on as long as somebody listens."""
    return "text/event-stream" not in operation.definition.raw["responses"]["200"].get("content", {})


def _all() -> list[APIOperation]:
    found = [found.ok() for found in SCHEMA.get_all_operations()]
    return [each for each in found if "200" not in each.definition.raw["responses"] or _ends(each)]


OPERATIONS = _all()


def _name(operation: APIOperation) -> str:
    return f"{operation.method.upper()} {operation.path}"


@pytest.mark.parametrize("operation", OPERATIONS, ids=_name)
def test_without_authentication_every_answer_is_documented(trusting: Ground, operation: APIOperation) -> None:
    _drive(trusting, operation)


@pytest.mark.parametrize("operation", OPERATIONS, ids=_name)
def test_with_authentication_every_answer_is_documented(guarded: Ground, operation: APIOperation) -> None:
    _drive(guarded, operation)


def _aim(case: Case, known: dict[str, str]) -> None:
    """Let the case reach what is there: known names, and no header that contradicts them."""
    places = [case.path_parameters, case.body if isinstance(case.body, dict) else {}]
    for place in places:
        place.update({name: known[name] for name in place if name in known})
    for name in ("Idempotency-Key", "X-Worker-Id", "X-Worker-Session"):
        case.headers.pop(name, None)


def _drive(ground: Ground, operation: APIOperation) -> None:
    """Send what fits the document and what does not, to things that are there and things that are not."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(st.data())
    def send(data: st.DataObject) -> None:
        mode = data.draw(st.sampled_from(list(GenerationMode)))
        case = data.draw(operation.as_strategy(mode))
        if data.draw(st.booleans()):
            _aim(case, {name: data.draw(st.sampled_from(values)) for name, values in ground.names.items()})
        response = case.call(base_url=ground.address, session=session, auth=ground.caller)
        case.validate_response(response, checks=CHECKS)

    with requests.Session() as session:
        send()
