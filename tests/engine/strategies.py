"""Shapes, curves and frames to try the kernels on."""

import numpy as np
from hypothesis import strategies as st

sides = st.one_of(st.integers(1, 5), st.integers(6, 70))
shapes = st.tuples(sides, sides)
threads = st.integers(1, 4)
degrees = st.one_of(st.integers(0, 12), st.just(8))
seeds = st.integers(0, 2**31)
windows = st.sampled_from([1, 3, 5, 9, 15, 41])


def curves(seed, degree, shape):
    """Return float32 coefficients of order one that fall off with the degree."""
    rng = np.random.default_rng(seed)
    fall = 1.0 / (1.0 + np.arange(degree + 1)) ** 1.5
    return (rng.standard_normal((degree + 1, *shape)) * fall[:, None, None]).astype(np.float32)


def depth(seed, shape, reach=9.9):
    return np.random.default_rng(seed + 1).uniform(-reach, reach, shape).astype(np.float32)
