"""The border between Python and the kernels: its description, its numbers, its refusals."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from varfocus import engine
from varfocus.engine import _kernels
from varfocus.engine.extension import described
from varfocus.errors import ParameterError

SOURCES = Path(engine.__file__).parent


@pytest.mark.skipif(importlib.util.find_spec("nanobind") is None, reason="nanobind is missing")
def test_the_committed_stub_describes_the_compiled_kernels():
    from nanobind.stubgen import StubGen

    stub = StubGen(_kernels, quiet=True)
    stub.put(_kernels)
    assert stub.get() == (SOURCES / "_kernels.pyi").read_text(), "run: make stubs"


def test_numbers_are_those_of_the_kernels():
    for name in ("BATCH", "COMPACT_LOWEST", "LABEL_PADDING", "MOST_THREADS", "WIDEST_WINDOW"):
        assert getattr(engine, name) == getattr(_kernels, name)


def test_a_refusal_says_what_was_received_and_what_was_expected():
    image, out = np.zeros((4, 5), np.float32), np.zeros((4, 6), np.float32)
    with pytest.raises(ParameterError) as caught:
        engine.kernels.box_mean(image, out, 3, 1)
    assert caught.value.received == "received out of shape (4, 6)"
    assert caught.value.expected == "expected (4, 5)"
    frozen = np.zeros((4, 5), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ParameterError) as caught:
        engine.kernels.box_mean(image.astype(float), frozen, 3, 1)
    assert caught.value.received == (
        "received box_mean(float64 of shape (4, 5); float32 of shape (4, 5), read-only; 3; 1)"
    )
    assert caught.value.expected.startswith("expected box_mean(image: ndarray[dtype=float32")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros((2, 3), np.uint8).T, "uint8 of shape (3, 2), not contiguous"),
        (2.5, "2.5"),
        (True, "True"),
        ([1.0], "list"),
        (None, "NoneType"),
    ],
)
def test_arguments_are_described(value, words):
    assert described(value) == words
