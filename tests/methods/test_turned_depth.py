"""Mirrored, upside down, transposed: the default method finds the same depth, whatever the size."""

import numpy as np
import pytest

from varfocus import engine, reconstruct, simulate
from varfocus.methods.veto import veto_windows

pytestmark = pytest.mark.skipif(not engine.in_use(), reason="the array code takes too long")

TURNS = {
    "mirrored": lambda image: image[:, ::-1],
    "upside down": lambda image: image[::-1],
    "transposed": lambda image: np.swapaxes(image, 0, 1),
}


def found(frames):
    return reconstruct(np.ascontiguousarray(frames), align="none").index


@pytest.mark.parametrize("shape", [(81, 103), (82, 98), (83, 96)])
@pytest.mark.parametrize("scene", ["steps", "cosine"])
def test_a_turned_stack_has_the_turned_depth(scene, shape):
    stack = simulate(scene, shape=shape, seed=1, n=11)
    depth = found(stack.frames)
    error = np.sqrt(np.mean((depth - stack.truth_index) ** 2))
    for name, turn in TURNS.items():
        other = turn(found(np.stack([turn(frame) for frame in stack.frames])))
        # Transposed, contrast is rounded otherwise, and single pixels may change sides.
        most = 0.04 if name == "transposed" else 0.002
        assert np.sqrt(np.mean((other - depth) ** 2)) <= most * error, name


@pytest.mark.parametrize("pixels", [160 * 200, 480 * 640, 481 * 643, 2000 * 3000, 10**9])
def test_windows_have_a_middle(pixels):
    assert all(side % 2 == 1 for side in veto_windows(pixels))
