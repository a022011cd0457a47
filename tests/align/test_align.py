"""Alignment against known motion, light, order and damage."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from command_line import read_png, varfocus, write_frames
from varfocus import engine, read_stack, reconstruct, simulate
from varfocus.align import align, brought
from varfocus.align.alignment import WarpedFrame
from varfocus.align.area import common_area
from varfocus.align.continuation import continued, independent
from varfocus.align.exposure import robust_mean
from varfocus.align.graph import absolute
from varfocus.align.models import basis, displacement, grid, moved, normaliser, step
from varfocus.align.order import best_order
from varfocus.align.register import Pair, register
from varfocus.align.warp import shrink, warp
from varfocus.align.whole import pyramid
from varfocus.errors import ParameterError
from varfocus.params import AlignParams
from varfocus.simulation import unsteady
from varfocus.stack import FocusStack
from varfocus.studies.metrics import rmse

MODELS = ["shift", "similarity", "affine", "homography"]


@pytest.fixture(scope="module")
def steady():
    return simulate("slants", shape=(250, 310), n=9, noise=0.0, seed=4)


@pytest.fixture(scope="module")
def shaky(steady):
    return unsteady(steady, breathing=0.06, flicker=0.08, seed=4)


@pytest.fixture(scope="module")
def aligned(shaky):
    """The shaky stack as it is aligned by default, and what was found."""
    return align(shaky.simulation.stack)


def errors(made, found):
    """Return the root-mean-square error in pixels of every frame that takes part."""
    points = grid(found.size)
    used = [k for k in found.order if k not in found.left_out]
    truth = made.matrices @ np.linalg.inv(made.matrices[found.reference])
    off = [moved(found.matrices[k], points) - moved(truth[k], points) for k in used]
    return np.array([np.sqrt((d**2).sum(1).mean()) for d in off])


# --- warping --------------------------------------------------------------------------------


@given(
    st.integers(0, 2**31),
    st.sampled_from([np.uint8, np.uint16, np.float32]),
    st.sampled_from([0, 3]),
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(1, 4),
)
def test_native_warp_and_shrink_equal_the_array_code(seed, dtype, channels, height, width, threads):
    rng = np.random.default_rng(seed)
    full = 1.0 if dtype == np.float32 else float(np.iinfo(dtype).max)
    shape = (height, width, channels) if channels else (height, width)
    frame = (rng.random(shape) * full).astype(dtype)
    matrix = np.eye(3) + rng.normal(0, [[0.1, 0.1, 5], [0.1, 0.1, 5], [1e-3, 1e-3, 0]])
    gains = rng.uniform(0.5, 2, max(channels, 1))
    factor = int(rng.integers(1, min(height, width) + 1))
    with engine.use_threads(threads):
        fast = warp(frame, matrix, (17, 23), gains=gains), shrink(frame, factor, 1 / full)
    with engine.switched_off():
        plain = warp(frame, matrix, (17, 23), gains=gains), shrink(frame, factor, 1 / full)
    step_size = 1e-5 if dtype == np.float32 else 1.0  # a tie may be rounded either way
    assert np.abs(fast[0].astype(float) - plain[0]).max() <= step_size
    assert np.mean(fast[0] != plain[0]) < 0.01 or dtype == np.float32
    np.testing.assert_allclose(fast[1], plain[1], rtol=1e-5, atol=1e-6)


def test_warping_by_whole_pixels_copies_them(rng):
    for frame in (rng.integers(0, 65536, (40, 50, 3), np.uint16), rng.random((40, 50), np.float32)):
        matrix = np.array([[1, 0, 7], [0, 1, 4], [0, 0, 1.0]])
        np.testing.assert_array_equal(warp(frame, matrix, (30, 40)), frame[4:34, 7:47])


def test_warping_keeps_fine_detail():
    """A wave of four pixels keeps its amplitude to 3 % wherever it is sampled."""
    x = np.arange(200)
    frame = np.broadcast_to(np.cos(np.pi / 2 * x), (12, 200)).astype(np.float32)
    for shift in (0.25, 0.5, 0.8):
        got = warp(frame, np.array([[1, 0, shift], [0, 1, 0], [0, 0, 1.0]]), frame.shape)
        want = np.cos(np.pi / 2 * (x + shift))
        assert np.abs(got[6, 10:-10] - want[10:-10]).max() < 0.03


# --- one pair ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_a_known_map_is_found_to_a_few_hundredths_of_a_pixel(model, steady):
    image = ndimage.gaussian_filter(steady.sharp.mean(2), 1.0)
    size = {"shift": 2, "similarity": 4, "affine": 6, "homography": 8}[model]
    delta = np.array([0.02, -0.03, 0.02, 0.01, -0.015, 0.02, 0.01, -0.01])[:size]
    height, width = image.shape
    radius = np.hypot(width, height) / 2
    N = np.array(
        [[1 / radius, 0, -width / 2 / radius], [0, 1 / radius, -height / 2 / radius], [0, 0, 1]]
    )
    true = np.linalg.inv(N) @ step(model, delta) @ N
    fixed = 0.9 * warp(image, true, image.shape) + 0.03
    found = register(pyramid(fixed), pyramid(image), model)
    inner = grid((height - 60, width - 60)) + 30
    assert np.abs(moved(found.matrix, inner) - moved(true, inner)).max() < 0.03
    assert found.correlation > 0.99
    assert found.error < 0.1


def test_steps_move_as_their_basis_says():
    points = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    for model in MODELS:
        columns = basis(model, points[:, 0], points[:, 1])
        for number, column in enumerate(columns):
            delta = np.zeros(len(columns))
            delta[number] = 1e-6
            change = (moved(step(model, delta), points) - points) / 1e-6
            want = np.stack([np.broadcast_to(part, 20) for part in column], axis=1)
            np.testing.assert_allclose(change, want, atol=1e-4)


def test_the_graph_recovers_exact_maps_and_outvotes_a_wrong_pair(rng):
    n, shape = 12, (200, 300)
    A = np.tile(np.eye(3), (n, 1, 1))
    for k in range(n):
        s, r = 1 + 0.01 * k, 0.01 * rng.normal()
        A[k, :2] = [[s, -r, rng.normal(0, 4)], [r, s, rng.normal(0, 4)]]
    A = A @ np.linalg.inv(A[6])
    pairs = [
        Pair(A[i + d] @ np.linalg.inv(A[i]), 1.0, 0.01, i=i, j=i + d)
        for d in (1, 2)
        for i in range(n - d)
    ]
    found, errors = absolute(pairs, n, 6, "similarity", shape)
    np.testing.assert_allclose(found, A, atol=1e-6)
    assert errors[6] == 0.0
    assert (np.diff(errors[6:]) > 0).all()
    wrong = np.array([[1, 0, 30], [0, 1, 0], [0, 0, 1.0]])
    pairs[3] = replace(pairs[3], matrix=wrong @ pairs[3].matrix)
    bent, _ = absolute(pairs, n, 6, "similarity", shape)
    points = grid(shape)
    assert (
        max(np.abs(moved(b, points) - moved(a, points)).max() for a, b in zip(A, bent, strict=True))
        < 0.3
    )


def test_groups_of_frames_without_a_link_are_left_where_they_are():
    """Frames 0–3 and 5–7 know about each other only: the second group stays, unsure."""
    shift = np.array([[1, 0, 2], [0, 1, 0], [0, 0, 1.0]])
    pairs = [Pair(shift, 1.0, 0.01, i=i, j=i + 1) for i in (0, 1, 2, 5, 6)]
    found, errors = absolute(pairs, 8, 1, "similarity", (100, 120))
    np.testing.assert_allclose(found[:4, 0, 2], [-2, 0, 2, 4], atol=1e-6)
    np.testing.assert_array_equal(found[4:], np.tile(np.eye(3), (4, 1, 1)))
    assert np.isfinite(errors[:4]).all()
    assert np.isinf(errors[4:]).all()


def test_frames_that_tell_nothing_go_on_as_the_others_do(rng):
    """A lens that breathes evenly goes on to; a hand that trembles stays where it was."""
    shape, n = (200, 300), 12
    N = normaliser(shape)
    maps = np.tile(np.eye(3), (n, 1, 1))
    maps[:, 0, 0] = maps[:, 1, 1] = 1.0 + 0.01 * np.arange(n)
    maps[:, :2, 2] = 0.02 * rng.normal(size=(n, 2))
    maps = np.linalg.inv(N) @ maps @ N
    unknown = [0, 1, 5, 11]
    known = [r for r in range(n) if r not in unknown]
    spoilt, unsure = maps.copy(), np.full(n, 0.02)
    spoilt[unknown], unsure[unknown] = np.eye(3), np.inf
    found, errors = continued(spoilt, independent(unsure, "similarity", shape), "similarity", shape)
    np.testing.assert_array_equal(found[known], maps[known])
    np.testing.assert_allclose(errors[known], 0.02)
    assert (errors[unknown] > 0.5).all()
    normal = N @ found @ np.linalg.inv(N)
    np.testing.assert_allclose(normal[:, 0, 0], 1.0 + 0.01 * np.arange(n), atol=1e-4)
    middle = (N @ maps @ np.linalg.inv(N))[:, :2, 2]
    for r, want in ((0, middle[2]), (1, middle[2]), (11, middle[10])):
        np.testing.assert_allclose(normal[r, :2, 2], want, atol=1e-3)
    np.testing.assert_allclose(normal[5, :2, 2], (middle[4] + middle[6]) / 2, atol=1e-3)
    unsure[np.arange(n) != 4] = np.inf
    alone, _ = continued(maps, independent(unsure, "similarity", shape), "similarity", shape)
    np.testing.assert_allclose(alone, np.broadcast_to(maps[4], maps.shape), atol=1e-3)


def test_an_unsure_measurement_counts_as_much_as_it_is_sure(rng):
    """Between what was measured and where the neighbours go, by inverse variances."""
    shape, n = (200, 300), 15
    maps = np.tile(np.eye(3), (n, 1, 1))
    maps[:, 0, 2] = np.cumsum(rng.normal(0, 1.0, n))
    far = maps.copy()
    far[0, 0, 2] += 3.0
    before = np.inf
    for error in (0.3, 1.0, 10.0):
        unsure = np.full(n, 0.02)
        unsure[0] = error
        found, _ = continued(far, independent(unsure, "shift", shape), "shift", shape)
        distance = abs(found[0, 0, 2] - maps[1, 0, 2])
        assert distance <= before
        before = distance
    assert before < 0.1


def test_noise_has_no_position(rng):
    """Pictures with nothing in common do not match; with a common shading they do not move."""
    y, x = np.mgrid[:160, :200] / 200
    for blur in (2.0, 4.0):
        for shading in (0.0, 2.5):
            noise = [ndimage.gaussian_filter(rng.normal(size=x.shape), blur) for _ in "ab"]
            common = shading * np.cos(3 * x + 2 * y)
            pair = [pyramid((common + n / n.std()).astype(np.float32)) for n in noise]
            found = register(*pair, "similarity")
            if shading:  # no farther than its own doubt
                motion = displacement(found.matrix, x.shape).mean()
                assert motion < 0.5 + found.error + found.bias
            else:
                assert found.correlation < 0.5


def test_the_common_area_lies_inside_all_frames():
    shape = (100, 160)
    turn = 0.02
    maps = [np.array([[s, -turn, 3.0], [turn, s, -2.0], [0, 0, 1]]) for s in (0.95, 1.0, 1.05)]
    left, top, width, height = common_area(maps, shape)
    corners = np.array(
        [
            [left, top],
            [left + width - 1, top + height - 1],
            [left + width - 1, top],
            [left, top + height - 1],
        ],
        float,
    )
    for matrix in maps:
        x, y = moved(matrix, corners).T
        assert x.min() >= 0
        assert x.max() <= 159
        assert y.min() >= 0
        assert y.max() <= 99
    assert width * height > 0.8 * 100 * 160
    assert common_area([np.eye(3)], shape) == (0, 0, 160, 100)


# --- whole stacks -----------------------------------------------------------------------------


def test_breathing_shift_rotation_and_flicker_are_undone(shaky, aligned):
    stack, found = aligned
    assert found.model == "similarity"
    assert errors(shaky, found).max() < 0.2
    light = found.gains * shaky.gains / shaky.gains[found.reference]
    assert np.abs(light - 1).max() < 0.005
    assert stack.shape == (found.crop.height, found.crop.width)
    assert stack.dtype == shaky.simulation.frames.dtype
    assert all(isinstance(frame, WarpedFrame) for frame in stack.frames)  # nothing is stored


def test_an_aligned_stack_is_left_as_it_is(steady):
    still = unsteady(steady, breathing=0.0, shift=0.0, rotation=0.0)
    given_stack = still.simulation.stack
    stack, found = align(given_stack)
    assert stack is given_stack
    assert found.model == "none"
    assert "aligned" in found.reason


def test_depth_is_as_good_as_that_of_a_camera_that_was_held(steady, shaky):
    held = unsteady(steady, breathing=0.06, flicker=0.08, seed=4, held=True).simulation
    np.testing.assert_array_equal(held.truth_index, shaky.simulation.truth_index)
    result = reconstruct(shaky.simulation.frames)
    left, top, width, height = result.alignment.crop
    inside = (slice(top, top + height), slice(left, left + width))
    # Of the same area: on the larger frame the edge stage does better.
    alike = reconstruct(held.frames[(slice(None), *inside)], align="none")
    best = rmse(alike.index, held.truth_index[inside])
    assert rmse(result.index, held.truth_index[inside]) < 1.1 * best
    unaligned = reconstruct(shaky.simulation.frames, align="none", edges="off")
    assert rmse(unaligned.index, shaky.simulation.truth_index) > 1.3 * best


@pytest.mark.parametrize("shape", ["sphere", "plane", "cone"])
def test_noise_is_no_motion_and_defocus_no_damage(shape):
    """Pertuz's near frames are blurred until only noise is left: kept, and kept in place."""
    stack = simulate(shape, shape=(240, 240), noise=1.0).stack
    aligned, found = align(stack)
    assert found.left_out == {}
    assert found.warnings == ()
    assert aligned is stack


def damaged(kind, frames, k, rng):
    frames = frames.copy()
    if kind == "black":
        frames[k] = 0
    elif kind == "another picture":
        other = simulate("discs", shape=frames.shape[1:3], n=3, seed=77)
        frames[k] = other.frames[1]
    else:
        frames[k] = ndimage.uniform_filter1d(frames[k].astype(float), 25, axis=1)
    return frames


@pytest.mark.parametrize("kind", ["black", "another picture", "moved while it was taken"])
@pytest.mark.parametrize("k", [0, 4])
def test_a_broken_frame_is_left_out(kind, k, shaky, rng):
    if k == 0 and kind.startswith("moved"):
        pytest.skip("at an end, motion blur cannot be told from defocus")
    frames = damaged(kind, shaky.simulation.frames, k, rng)
    stack, found = align(FocusStack.from_array(frames))
    assert set(found.left_out) == {k}
    assert len(stack) == 8
    assert errors(shaky, found).max() < 0.3
    assert any(f"frame {k} was left out" in note for note in found.warnings)


def test_depth_counts_frames_that_were_left_out(shaky, rng):
    frames = damaged("black", shaky.simulation.frames, 4, rng)
    with pytest.warns(UserWarning, match="left out"):
        result = reconstruct(frames)
    assert result.index.max() <= 7
    assert result.depth.max() > 7
    left, top, width, height = result.alignment.crop
    truth = shaky.simulation.truth_index[top : top + height, left : left + width]
    assert np.nanmedian(np.abs(result.depth - truth)) < 0.3


def test_a_shuffled_stack_is_reported_and_mended(shaky):
    shuffle = [0, 5, 2, 7, 4, 1, 6, 3, 8]
    stack = FocusStack.from_array(shaky.simulation.frames[shuffle])
    _, found = align(stack)
    assert found.order == tuple(range(9))
    assert any("order of focus" in note for note in found.warnings)
    mended, found = align(stack, AlignParams(auto_order=True))
    names = [int(name.split()[1]) for name in mended.names]
    recovered = [shuffle[k] for k in names]
    assert recovered in (sorted(recovered), sorted(recovered, reverse=True))
    assert found.order_ratio < 0.9


def test_the_right_order_raises_no_doubt(aligned):
    _, found = aligned
    assert found.order_ratio >= 0.97
    assert found.warnings == ()


def test_the_shortest_path_through_points_on_a_line(rng):
    places = rng.permutation(40)
    order, ratio = best_order(places[:, None] * np.ones((1, 3), np.float32))
    walked = places[order]
    assert (np.diff(walked) == 1).all() or (np.diff(walked) == -1).all()
    assert ratio < 0.5


@pytest.mark.parametrize("shape", ["plane", "sphere"])
def test_uneven_defocus_is_no_motion(shape):
    """A curved or tilted surface under a wide sweep: blur grows outwards as breathing would."""
    stack = simulate(shape, shape=(200, 240), n=9, noise=0.0, kappa=1.5, colour=True).stack
    aligned, found = align(stack)
    assert aligned is stack, found.reason


def test_standard_errors_cover_the_errors(shaky, aligned):
    _, found = aligned
    assert (errors(shaky, found) < 3.0 * found.errors + found.doubts + 0.03).all()
    assert found.errors.max() < 0.2


def test_what_cannot_be_aligned_is_left_as_it_is(rng):
    stack = FocusStack.from_array(rng.random((5, 130, 150), np.float32))
    same, found = align(stack)
    assert same is stack
    assert any("could not be aligned" in note for note in found.warnings)


def test_masked_borders_are_unknown(shaky):
    result = reconstruct(shaky.simulation.frames, border="mask")
    assert result.depth.shape == shaky.simulation.truth_index.shape
    left, top, width, height = result.alignment.crop
    inside = np.zeros(result.depth.shape, bool)
    inside[top : top + height, left : left + width] = True
    np.testing.assert_array_equal(np.isnan(result.depth), ~inside)
    assert (result.confidence[~inside] == 0).all()


def test_another_reference_gives_its_view(shaky):
    _, found = align(shaky.simulation.stack, AlignParams(reference=1))
    assert found.reference == 1
    np.testing.assert_array_equal(found.matrices[1], np.eye(3))
    assert errors(shaky, found).max() < 0.3
    with pytest.raises(ParameterError, match="reference = 9 for 9 frames"):
        align(shaky.simulation.stack, AlignParams(reference=9))


def test_the_robust_mean_ignores_a_third_of_outliers(rng):
    values = rng.normal(0.05, 0.01, 300)
    values[:100] += 1.0
    assert abs(robust_mean(values) - 0.05) < 0.005


# --- the command line -------------------------------------------------------------------------


def test_align_writes_frames_and_maps_that_can_be_used_again(tmp_path, capsys, shaky):
    shots = write_frames(tmp_path / "shots", shaky.simulation.frames)
    done = varfocus(capsys, "align", shots, "-o", tmp_path / "aligned", "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert record["frames"] == [f"frame_{k:02d}.tif" for k in range(9)]
    aligned = read_stack(tmp_path / "aligned" / "*.tif")
    assert aligned.dtype == np.uint8
    crop = record["alignment"]["crop"]
    assert aligned.shape == (crop["height"], crop["width"])
    expected, _ = align(read_stack(shots))
    for k in range(9):
        np.testing.assert_array_equal(aligned.read(k), expected.read(k))
    # A second stack of the same scene, too dark to be aligned by itself.
    dark = write_frames(tmp_path / "dark", (shaky.simulation.frames // 64))
    again = varfocus(
        capsys,
        "align",
        dark,
        "-o",
        tmp_path / "again",
        "--transforms-from",
        tmp_path / "aligned",
        "--exposure",
        "none",
        "--json",
    )
    assert again.code == 0, again.err
    theirs = json.loads(again.out)["alignment"]
    for a, b in zip(theirs["frames"], record["alignment"]["frames"], strict=True):
        assert a["matrix"] == b["matrix"]
    assert theirs["crop"] == crop


def test_a_dry_run_prints_the_table_and_writes_nothing(tmp_path, capsys, shaky):
    shots = write_frames(tmp_path / "shots", shaky.simulation.frames)
    done = varfocus(capsys, "align", shots, "--dry-run")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert len(lines) == 10
    assert "± px" in lines[0]
    assert lines[5].endswith("reference")
    assert float(lines[1].split()[1]) > 1.0
    assert [path.name for path in tmp_path.iterdir()] == ["shots"]
    done = varfocus(capsys, "align", shots)
    assert done.code == 2
    assert "--output" in done.err


def test_depth_records_its_alignment_and_can_be_repeated(tmp_path, capsys, shaky):
    shots = write_frames(tmp_path / "shots", shaky.simulation.frames)
    done = varfocus(capsys, "depth", shots, "-o", tmp_path / "a", "--method", "classic")
    assert done.code == 0, done.err
    assert "Alignment: aligned (similarity)" in done.err
    record = json.loads((tmp_path / "a" / "run.json").read_text())
    assert record["input"]["width"] == shaky.simulation.frames.shape[2]
    assert read_png(tmp_path / "a" / "fused.png").shape[1] == record["alignment"]["crop"]["width"]
    params = tmp_path / "a" / "run.json"
    again = varfocus(capsys, "depth", shots, "-o", tmp_path / "b", "--params", params)
    assert again.code == 0, again.err
    first, second = ((tmp_path / x / "depth.tif").read_bytes() for x in "ab")
    assert first == second


def test_compare_sees_the_frames_that_depth_would_see(tmp_path, capsys, shaky):
    shots = write_frames(tmp_path / "shots", shaky.simulation.frames)
    few = ["--alpha", "1/8", "--tv-weight", "1"]
    done = varfocus(capsys, "compare", shots, "-o", tmp_path / "a.png", *few)
    assert done.code == 0, done.err
    assert "Alignment: aligned (similarity)" in done.err


def test_maps_of_another_size_are_refused(tmp_path, capsys, shaky):
    shots = write_frames(tmp_path / "shots", shaky.simulation.frames)
    small = write_frames(tmp_path / "small", shaky.simulation.frames[:, :150])
    assert varfocus(capsys, "align", shots, "-o", tmp_path / "out").code == 0
    done = varfocus(
        capsys, "align", small, "-o", tmp_path / "x", "--transforms-from", tmp_path / "out"
    )
    assert done.code == 2
    assert "was made for 9 frames" in done.err
    done = varfocus(capsys, "align", small, "-o", tmp_path / "x", "--transforms-from", shots)
    assert done.code == 2
    assert "cannot be used" in done.err


@pytest.mark.parametrize("name", ["gt_1", "gt_2", "gt_4"])
def test_real_aligned_stacks_are_left_bit_identical(name, real_data):
    stack = read_stack(real_data(f"{name}/frames"))
    same, found = align(stack)
    assert same is stack, found.reason


@pytest.mark.parametrize(
    ("name", "n", "seed"), [("cosine", 6, 0), ("cone", 6, 0), ("cosine", 4, 1)]
)
def test_few_frames_of_a_steady_surface_are_not_moved(name, n, seed):
    """Pairs of such frames seem to move; registered to what is sharp, they stand still."""
    steady = simulate(name, shape=(128, 128), n=n, seed=seed).stack
    stack, found = align(steady)
    assert found.model == "none"
    assert stack.shape == steady.shape


# --- a frame that took no part ------------------------------------------------------------------


def test_a_frame_left_out_is_brought_to_the_reference_in_place_and_light(shaky):
    stack = shaky.simulation.stack
    kept = [k for k in range(len(stack)) if k != 5]
    others = replace(stack, frames=[stack.frames[k] for k in kept], focus=None)
    params = AlignParams("similarity")
    _, found = align(others, params)
    near = sorted(range(len(kept)), key=lambda k: abs(kept[k] - 5))
    frame = brought(stack.frames[5], others, found, near, params)
    assert isinstance(frame, WarpedFrame)
    truth = shaky.matrices[5] @ np.linalg.inv(shaky.matrices[kept[found.reference]])
    points = grid(found.size)
    off = moved(frame.matrix, points) - moved(truth, points)
    unmoved = points - moved(truth, points)
    assert np.sqrt((off**2).sum(1).mean()) < 0.3 < np.sqrt((unmoved**2).sum(1).mean())
    light = frame.gains * shaky.gains[5] / shaky.gains[kept[found.reference]]
    assert np.abs(light - 1).max() < 0.02 < np.abs(shaky.gains[5] / shaky.gains[4] - 1).max()


def test_a_frame_left_out_stays_where_frames_do(steady):
    stack = steady.stack
    _, found = align(stack, AlignParams("none"))
    assert brought(stack.frames[5], stack, found, [4, 6], AlignParams("none")) is stack.frames[5]
