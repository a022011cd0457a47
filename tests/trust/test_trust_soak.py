"""Many reconstructions in one process: memory stays where it is."""

import gc
import warnings

import numpy as np
import psutil
import pytest

from command_line import write_pictures
from varfocus import read_stack, reconstruct, simulate
from varfocus.errors import InputError, VarfocusWarning

GROWTH = 24 << 20
"""Bytes that the process may have grown by at the end: far less than one leaked stack a run."""


def soak(folder, times: int) -> int:
    """Reconstruct `times` times, from files and from memory; return by how much memory grew."""
    scene = simulate("steps", shape=(96, 104), n=6).frames
    write_pictures(folder, scene)
    flat = np.zeros((5, 40, 40), np.uint8)
    process, after_warming = psutil.Process(), 0
    for k in range(times):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VarfocusWarning)
            method = ("robust", "paper", "classic")[k % 3]
            stack = read_stack(str(folder)) if k % 2 else scene
            reconstruct(stack, method=method, align="none" if k % 4 else "auto")
            with pytest.raises(InputError):
                reconstruct(flat, method=method)
        if k == times // 5:
            gc.collect()
            after_warming = process.memory_info().rss
    gc.collect()
    return process.memory_info().rss - after_warming


def test_memory_stays_flat_over_some_runs(tmp_path):
    assert soak(tmp_path, 30) < GROWTH


@pytest.mark.slow
def test_memory_stays_flat_over_five_hundred_runs(tmp_path):
    assert soak(tmp_path, 500) < GROWTH
