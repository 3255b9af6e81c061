"""The compact protocol: what is wanted is read, all else is walked over, and nothing hostile gets far."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import thrift
from cableferry.core.thrift import ThriftError
from tests.core import compact
from tests.core.compact import Byte

UNWANTED = {
    "a truth": True,
    "a falsehood": False,
    "a byte": Byte(-3),
    "a number": -70_000,
    "a double": 0.5,
    "a text": "unwanted",
    "a long text": "x" * 300,
    "a list of numbers": [1, 2, -300],
    "a list of truths": [True, False],
    "a list of doubles": [0.5, 0.25],
    "a list of texts": ["", "b", "c" * 200],
    "a long list": list(range(40)),
    "a list of structs": [{1: "a", 40: 3}, {}],
    "a set": {1},
    "a struct": {1: True, 2: {3: "deep", 9: 0.5}},
    "a map": {"map": {"a": 1, "b": 2}},
    "an empty map": {"map": {}},
}


@pytest.mark.parametrize("name", UNWANTED)
def test_what_is_not_wanted_is_walked_over(name: str) -> None:
    data = compact.struct({1: 11, 2: UNWANTED[name], 3: {1: UNWANTED[name], 2: "kept"}, 4: 44})

    found = thrift.read(data, {1: ("first", {}), 3: ("inner", {2: ("text", {})}), 4: ("last", {})})

    assert {"first": 11, "inner": {"text": b"kept"}, "last": 44} == found


def test_every_kind_that_is_wanted_is_kept() -> None:
    data = compact.struct({1: True, 2: False, 3: Byte(-3), 4: -(2**63), 5: "é", 6: [1, 2], 7: [{1: 5}], 8: {1: "a"}})
    wanted = {n: (str(n), {}) for n in (1, 2, 3, 4, 5, 6)} | {7: ("7", {1: ("x", {})}), 8: ("8", {1: ("y", {})})}

    found = thrift.read(data, wanted)

    assert {
        "1": True, "2": False, "3": -3, "4": -(2**63), "5": "é".encode(), "6": [1, 2], "7": [{"x": 5}],
        "8": {"y": b"a"},
    } == found  # fmt: skip


def test_a_set_is_read_like_a_list() -> None:
    assert {"set": [7]} == thrift.read(compact.struct({1: {7}}), {1: ("set", {})})


def test_numbers_of_fields_may_be_far_apart_and_go_back() -> None:
    data = compact.struct({300: 1, 2: 2, 1000: 3})

    assert {"two": 2, "far": 3} == thrift.read(data, {2: ("two", {}), 1000: ("far", {})})


def _nested(levels: int) -> bytes:
    return b"\x1c" * levels + b"\x00" * (levels + 1)


LONG = b"\x80" * 20 + b"\x01"


@pytest.mark.parametrize(
    ("data", "wanted", "reason"),
    [
        pytest.param(b"", {}, "ends too early", id="nothing at all"),
        pytest.param(b"\x15", {}, "ends too early", id="a field without its value"),
        pytest.param(b"\x18\x05abc\x00", {1: ("a", {})}, "ends too early", id="a text that is cut off"),
        pytest.param(b"\x18\x05abc\x00", {}, "ends too early", id="a text that is cut off where nobody looks"),
        pytest.param(b"\x19\x28\x05abc", {}, "ends too early", id="a list that is cut off"),
        pytest.param(b"\x19\xf7\x7f", {}, "longer than the whole", id="a list that claims more than there is"),
        pytest.param(b"\x1b\x7f", {}, "longer than the whole", id="a map that claims more than there is"),
        pytest.param(b"\x16" + LONG, {1: ("a", {})}, "more than 64 bits", id="a number without an end"),
        pytest.param(
            b"\x16" + b"\xff" * 9 + b"\x7f\x00", {1: ("a", {})}, "more than 64 bits", id="a number of 70 bits"
        ),
        pytest.param(b"\x18" + LONG, {}, "more than 64 bits", id="a length without an end"),
        pytest.param(_nested(40), {}, "nested deeper than 32", id="structs in structs"),
        pytest.param(b"\x1b\x01\x33" * 40, {}, "ends too early", id="maps after maps"),
        pytest.param(b"\x1b\x01\x3b" + b"\x01\x01\x3b" * 40, {}, "nested deeper", id="maps in maps"),
        pytest.param(b"\x19\x19\x19\x19", {}, "holds lists", id="a list of lists"),
        pytest.param(b"\x1e\x00", {}, "unknown kind, 14", id="a kind that does not exist"),
        pytest.param(b"\x19\x2e\x00\x00", {}, "unknown kind, 14", id="a list of what does not exist"),
        pytest.param(b"\x17" + bytes(9), {1: ("a", {})}, "kind 7 where none", id="a double where none is known"),
    ],
)
def test_damage_is_told(data: bytes, wanted: thrift.Wanted, reason: str) -> None:
    with pytest.raises(ThriftError, match=re.escape(reason)):
        thrift.read(data, wanted)


def test_more_values_than_anybody_means_are_not_kept() -> None:
    data = b"\x19\xfc" + compact.varint(thrift.MOST_KEPT) + bytes(thrift.MOST_KEPT)

    with pytest.raises(ThriftError, match=f"more than {thrift.MOST_KEPT} values"):
        thrift.read(data, {1: ("many", {})})


WANTED: thrift.Wanted = {1: ("a", {}), 2: ("b", {1: ("c", {})}), 5: ("d", {})}


@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_told_to_be_damaged(data: bytes) -> None:
    with contextlib.suppress(ThriftError):
        assert set(thrift.read(data, WANTED)) <= {"a", "b", "d"}
