"""Every kernel of the extension runs here, on odd sizes, so that `make sanitize` sees all."""

import warnings

import numpy as np
import pytest

from ghosts import ghostly_scene
from varfocus import edges, engine, reconstruct, simulate
from varfocus.errors import VarfocusWarning

RUNS = [
    {"method": "robust"},
    {"method": "robust", "edges": "off", "align": "none"},
    {"method": "paper", "align": "none", "iterations": 40},
    {"method": "paper", "solver": "admm", "iterations": 5, "align": "none"},
    {"method": "classic", "align": "none"},
]


ABOUT_SETS = {
    "compiled_instruction_sets",
    "instruction_set",
    "instruction_sets",
    "lanes",
    "use_instruction_set",
}


def unsteady(shape, n):
    """A scene with jumps whose frames move by up to three pixels a frame."""
    wide = simulate("steps", shape=(shape[0] + 2 * n, shape[1] + 3 * n), n=n).frames
    return np.stack(
        [f[2 * k : 2 * k + shape[0], 3 * k : 3 * k + shape[1]] for k, f in enumerate(wide)]
    )


def kernel_names():
    names = {name for name, one in vars(engine.kernels).items() if callable(one)}
    return {name for name in names if name[0].islower() and name not in ABOUT_SETS}


def test_every_kernel_is_run(monkeypatch):
    called = set()
    names = kernel_names()
    assert len(names) >= 27

    def noted(name, kernel):
        def call(*arguments, **options):
            called.add(name)
            return kernel(*arguments, **options)

        return call

    for name in names:
        monkeypatch.setattr(engine.kernels, name, noted(name, getattr(engine.kernels, name)))
    frames = unsteady((133, 141), 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VarfocusWarning)
        # 140 has no large prime factor, unlike 141: the kernels transform its rows themselves.
        reconstruct(frames[:, :, :140], "paper", solver="admm", iterations=2, align="none")
        for options in RUNS:
            result = reconstruct(frames, **options)
            assert np.isfinite(result.depth).all()
            assert result.fused.shape[:2] == result.depth.shape
        reconstruct(np.tile(frames[:5, ..., 0], (1, 3, 3)), method="paper", align="none")  # coarser
        reconstruct(simulate("steps", shape=(101, 133), n=9).frames, align="none")  # occlusion
        monkeypatch.setattr(edges, "survey", lambda *_: edges.Closed("not rendered"))
        reconstruct(ghostly_scene((133, 141), n=8).frames, align="none")  # regions
    assert names - called == set()


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (2, 3), (17, 33), (64, 65), (5, 129)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_odd_sizes(shape, dtype):
    rng = np.random.default_rng(sum(shape))
    frames = rng.integers(0, 256, (4, *shape, 3)).astype(dtype)
    frames[:, 0, 0] = [[0] * 3, [255] * 3, [0] * 3, [7] * 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VarfocusWarning)
        for method in ("robust", "paper", "classic"):
            assert np.isfinite(reconstruct(frames, method=method, threads=3).depth).all()
