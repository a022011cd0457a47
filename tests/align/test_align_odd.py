"""Odd stacks: whatever is given, alignment ends with a stack or with an error of ours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from varfocus.align import align
from varfocus.errors import VarfocusError
from varfocus.params import AlignParams
from varfocus.stack import FocusStack

SIDES = [
    (130, 140),
    (131, 200),
    (128, 128),
    (60, 400),
    (48, 49),
    (1, 300),
    (300, 1),
    (2, 2),
    (9, 150),
]
KINDS = [
    "noise",
    "black",
    "constant",
    "duplicates",
    "texture",
    "stripes",
    "one dot",
    "gradient",
    "checker",
    "huge values",
    "two pictures",
    "steps",
    "saturated",
    "alternating light",
    "jumping",
    "mirrored",
    "blurred away",
]

STEADY = {
    "noise",
    "black",
    "constant",
    "duplicates",
    "texture",
    "one dot",
    "huge values",
    "saturated",
    "alternating light",
    "blurred away",
}
"""Kinds of stacks that nobody moved."""


def odd_stack(seed: int) -> np.ndarray:
    """Return frames ``(n, H, W)`` or ``(n, H, W, 3)`` that no photographer would take."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    height, width = SIDES[
        int(rng.integers(3)) if rng.random() < 0.7 else int(rng.integers(len(SIDES)))
    ]
    n = int(rng.integers(2, 6))
    y, x = np.mgrid[:height, :width]
    texture = ndimage.gaussian_filter(rng.random((height, width)), 1.5, mode="wrap")
    texture = (texture - texture.min()) / max(float(np.ptp(texture)), 1e-9)
    frames = np.repeat(texture[None], n, axis=0)
    if kind == "noise":
        frames = rng.random((n, height, width))
    elif kind in ("black", "constant"):
        frames = np.full((n, height, width), 0.0 if kind == "black" else 0.4)
    elif kind == "stripes":
        frames = np.stack([0.5 + 0.5 * np.sin(0.3 * x + k) + 0.0 * y for k in range(n)])
    elif kind == "one dot":
        frames = np.zeros((n, height, width))
        frames[:, height // 2, width // 2] = 1.0
    elif kind == "gradient":
        frames = np.stack([(x + 3.0 * k) / (width + 3.0 * n) + 0.0 * y for k in range(n)])
    elif kind == "checker":
        frames = np.stack([(x + y + k) % 2.0 for k in range(n)])
    elif kind == "huge values":
        frames = frames * 1e30
    elif kind == "two pictures":
        frames[n // 2 :] = rng.random((height, width))
    elif kind == "steps":
        frames = np.stack([1.0 * (x > width // 2 + 5 * k) + 0.0 * y for k in range(n)])
    elif kind == "saturated":
        frames = np.where(texture > 0.5, 1.0, 0.0)[None] + np.zeros((n, 1, 1))
    elif kind == "alternating light":
        frames = frames * np.where(np.arange(n) % 2, 1.0, 0.05)[:, None, None]
    elif kind == "jumping":
        frames = np.stack([np.roll(texture, rng.integers(-90, 90, 2), (0, 1)) for _ in range(n)])
    elif kind == "mirrored":
        frames = np.stack([texture[:, :: 1 if k % 2 else -1] for k in range(n)])
    elif kind == "blurred away":
        frames = np.stack([ndimage.gaussian_filter(texture, 12.0 * k) for k in range(n)])
    if rng.random() < 0.3:  # and one that does not belong
        frames = frames.copy()
        frames[int(rng.integers(n))] = rng.choice([0.0, 1.0])
    if rng.random() < 0.4:
        frames = frames + 0.01 * rng.standard_normal(frames.shape)
    if rng.random() < 0.3:
        frames = np.repeat(frames[..., None], 3, axis=3)
    if kind != "huge values" and rng.random() < 0.7:
        return (np.clip(frames, 0, 1) * 255).astype(np.uint8)
    return frames.astype(np.float32)


def check(seed: int) -> None:
    """Align an odd stack in an odd way."""
    rng = np.random.default_rng(seed)
    model = (
        "auto"
        if rng.random() < 0.7
        else rng.choice(["shift", "similarity", "affine", "homography"])
    )
    params = AlignParams(
        align=str(model),
        auto_order=bool(rng.random() < 0.3),
        border=str(rng.choice(["crop", "mask"])),
    )
    try:
        stack = FocusStack.from_array(odd_stack(seed))
        aligned, found = align(stack, params)
    except VarfocusError:
        return
    assert len(aligned) >= 2
    assert np.isfinite(found.matrices).all()
    assert np.isfinite(found.gains).all()
    assert min(aligned.shape) >= 1
    assert found.reason
    assert found.table(stack.names).count("\n") == len(stack)
    found.record(stack.names)
    if model == "auto" and KINDS[seed % len(KINDS)] in STEADY:
        assert found.model == "none"
        assert aligned.shape == stack.shape


@pytest.mark.parametrize("first", [0, 34, pytest.param(68, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("error")
def test_nothing_but_our_errors_leaves_alignment(first):
    for seed in range(first, first + 34):  # each kind twice
        try:
            check(seed)
        except Exception as error:
            raise AssertionError(f"odd stack {seed} ({KINDS[seed % len(KINDS)]})") from error


@pytest.mark.filterwarnings("error")
def test_blur_of_frames_without_anything_sharp_is_no_motion():
    """Frames 12, 24 and 36 px blurred, and a white one: their pairs seem to grow by 8 %."""
    check(802110)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_nothing_but_our_errors_leaves_alignment_at_length():
    for seed in range(1000, 4000):
        try:
            check(seed)
        except Exception as error:
            raise AssertionError(f"odd stack {seed} ({KINDS[seed % len(KINDS)]})") from error
