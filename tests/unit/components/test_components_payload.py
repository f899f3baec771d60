"""What reaches the browser is what was packed, in the layout the browser reads."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from tfmviz.components.payload import pack, unpack


def test_arrays_come_back_with_dtype_shape_and_numbers():
    arrays = {
        "a": np.arange(35, dtype=np.uint8).reshape(5, 7),
        "b": np.array([0.1, -2.5, 1e-20], dtype=np.float32),
        "c": np.arange(6, dtype=np.int32).reshape(1, 2, 3) - 3,
        "empty": np.zeros((0, 3), dtype=np.uint16),
    }
    header, back = unpack(pack({"title": "שלום </script>"}, **arrays))
    assert header["title"] == "שלום </script>"
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert np.array_equal(back[name], array)


def test_every_array_starts_on_a_multiple_of_eight():
    message = pack({"odd": "x" * 13}, a=np.ones(3, dtype=np.uint8), b=np.full(2, 7.5, dtype=np.float32))
    (length,) = struct.unpack("<I", message[:4])
    header = json.loads(message[4 : 4 + length])
    starts = [4 + length + header["arrays"][name]["offset"] for name in ("a", "b")]
    assert [start % 8 for start in starts] == [0, 0]
    assert struct.unpack_from("<2f", message, starts[1]) == (7.5, 7.5)


def test_version_depends_on_header_and_numbers_and_on_nothing_else():
    def version(text: str, number: int) -> str:
        return unpack(pack({"text": text}, a=np.array([number], dtype=np.uint8)))[0]["version"]

    assert version("x", 1) == version("x", 1)
    assert len({version("x", 1), version("x", 2), version("y", 1)}) == 3


def test_a_transposed_array_is_sent_in_its_own_order():
    array = np.arange(6, dtype=np.uint8).reshape(2, 3).T
    assert np.array_equal(unpack(pack({}, a=array))[1]["a"], array)


def test_dtypes_that_the_browser_does_not_read_are_refused():
    with pytest.raises(ValueError, match="float64"):
        pack({}, a=np.ones(3))


def test_nan_in_the_header_is_an_error_here_and_not_in_the_browser():
    with pytest.raises(ValueError, match="JSON"):
        pack({"weight": float("nan")})


def test_half_of_a_surrogate_pair_does_not_stop_the_message():
    header, _ = unpack(pack({"text": "\ud83d"}))
    assert header["text"] == "?"
