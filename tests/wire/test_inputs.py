"""Parameters and inputs: every shape clients send is kept, every other one is refused with what is wrong."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from cableferry.core.errors import Invalid
from cableferry.wire.emx2 import inputs
from cableferry.wire.emx2.inputs import DEEPEST, LONGEST_REFERENCE

KEPT_PARAMETERS = [
    ("nothing", b"", b"null"),
    ("null", b"null", b"null"),
    ("an object", b'{"a": 1}', b'{"a": 1}'),
    ("an object in a string", b'"{\\"a\\": 1}"', b'{"a": 1}'),
    ("null in a string", b'"null"', b"null"),
    ("what would run in a shell", b'{"c":"$(reboot) `id` \\"\\n"}', b'{"c":"$(reboot) `id` \\"\\n"}'),
]
KEPT_INPUTS = [
    ("nothing", b"", b"null"),
    ("null", b"null", b"null"),
    ("an empty list", b"[]", b"[]"),
    ("ids", b'["corpus-01", "550e8400-e29b-41d4-a716-446655440000"]', None),
    ("objects with an id", b'[{"artifact_id": "corpus-01"}]', None),
    ("named references", b'{"dataset": "corpus-01"}', None),
    ("named objects", b'{"dataset": {"artifact_id": "corpus-01"}}', None),
    ("named lists", b'{"datasets": ["a", {"artifact_id": "b"}]}', None),
    ("a list in a string", b'"[\\"corpus-01\\"]"', b'["corpus-01"]'),
    ("a padded list in a string", b'" [] "', b"[]"),
]
REFUSED_INPUTS = [
    ("a number", b"7", "not a number"),
    ("a boolean", b"true", "not a boolean"),
    ("a string that holds a string", b'"\\"a\\""', "not a string"),
    ("a list of numbers", b'["a", 7]', r"inputs\[1\] must be an artifact id or an object, not a number"),
    ("a list of nulls", b"[null]", r"inputs\[0\] .* not null"),
    ("a list of lists", b"[[]]", r"inputs\[0\] .* not a list"),
    ("a named number", b'{"dataset": 7.5}', "inputs.dataset .* not a number"),
    ("a named list of booleans", b'{"dataset": [true]}', r"inputs.dataset\[0\] .* not a boolean"),
    ("an empty id", b'[""]', r"inputs\[0\] must hold 1 to 4096 characters"),
    ("an id with a NUL", b'["a\\u0000b"]', "none of them NUL"),
    ("an id that is too long", msgspec.json.encode(["a" * (LONGEST_REFERENCE + 1)]), "1 to 4096"),
    ("half a list", b'["a"', "not valid JSON"),
    ("a string that holds no JSON", b'"corpus-01"', "not valid JSON"),
    ("not a number", b"[NaN]", "not valid JSON"),
    ("bytes that are no text", b'["\xff"]', "not valid JSON"),
    ("a deep list", b"[" * 100_000 + b"]" * 100_000, "nested deeper|not valid JSON"),
    ("a list a little too deep", b'[{"a":' * 33 + b"1" + b"}]" * 33, f"deeper than {DEEPEST} levels"),
]
REFUSED_PARAMETERS = [
    ("a list", b"[]", "an object or null, not a list"),
    ("a number", b"7", "not a number"),
    ("a boolean", b"false", "not a boolean"),
    ("a string that holds a list", b'"[]"', "not a list"),
    ("a half", b'{"a":', "not valid JSON"),
    ("a lone surrogate", b'{"a": "\\ud800"}', "not valid JSON"),
]


@pytest.mark.parametrize(("sent", "kept"), [k[1:] for k in KEPT_PARAMETERS], ids=[k[0] for k in KEPT_PARAMETERS])
def test_parameters_are_kept_as_they_are(sent: bytes, kept: bytes) -> None:
    assert kept == bytes(inputs.parameters(Raw(sent)))


@pytest.mark.parametrize(("sent", "kept"), [k[1:] for k in KEPT_INPUTS], ids=[k[0] for k in KEPT_INPUTS])
def test_inputs_are_kept_as_they_are(sent: bytes, kept: bytes | None) -> None:
    assert (sent if kept is None else kept) == bytes(inputs.inputs(Raw(sent)))


@pytest.mark.parametrize(("sent", "why"), [r[1:] for r in REFUSED_INPUTS], ids=[r[0] for r in REFUSED_INPUTS])
def test_inputs_of_another_shape_are_refused(sent: bytes, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        inputs.inputs(Raw(sent))


@pytest.mark.parametrize(("sent", "why"), [r[1:] for r in REFUSED_PARAMETERS], ids=[r[0] for r in REFUSED_PARAMETERS])
def test_parameters_of_another_shape_are_refused(sent: bytes, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        inputs.parameters(Raw(sent))


def test_the_deepest_value_that_is_allowed_is_kept() -> None:
    text = b'{"a":' * (DEEPEST - 1) + b"{}" + b"}" * (DEEPEST - 1)

    assert text == bytes(inputs.parameters(Raw(text)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=8), json_values, max_size=4))
def test_every_object_is_kept_byte_for_byte_with_or_without_a_string_around_it(value: dict[str, object]) -> None:
    text = msgspec.json.encode(value)

    assert text == bytes(inputs.parameters(Raw(text)))
    assert text == bytes(inputs.parameters(Raw(msgspec.json.encode(text.decode()))))


@given(st.binary(max_size=60))
def test_any_bytes_are_kept_or_refused_and_never_worse(sent: bytes) -> None:
    for read in (inputs.inputs, inputs.parameters):
        try:
            kept = read(Raw(sent))
        except Invalid:
            continue
        assert msgspec.json.decode(bytes(kept)) is None or isinstance(msgspec.json.decode(bytes(kept)), (dict, list))
