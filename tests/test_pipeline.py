"""The whole reconstruction: symmetries, limits, known surfaces, and how it talks."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy.stats import rankdata

import varfocus
from varfocus.contrast import mlap
from varfocus.errors import (
    NoContrastError,
    NotFiniteError,
    ParameterError,
    TooFewFramesError,
    TooLargeError,
    VarfocusWarning,
)
from varfocus.methods import paper
from varfocus.methods.paper import fitting_degree
from varfocus.params import Params
from varfocus.pipeline import out_of_range, run
from varfocus.plan import needed_bytes
from varfocus.stack import ArrayFrame, FocusStack
from varfocus.studies.metrics import bad_pixels, psnr, rmse

METHODS = ["paper", "classic"]
FLOAT_ACCURACY = 5e-4
"""In frames. Float32 rounding, carried through 400 iterations."""

N = 15


@pytest.fixture(scope="module")
def scene():
    """A noisy cone of odd width in floats, in which no two frames tie."""
    return varfocus.simulate("cone", shape=(48, 61), n=N, dtype="float32")


@pytest.fixture(scope="module")
def scene8():
    """The same in 8 bit."""
    return varfocus.simulate("cone", shape=(48, 61), n=N)


@pytest.fixture(scope="module")
def found(scene):
    return {method: varfocus.reconstruct(scene.frames, method) for method in METHODS}


@pytest.fixture(scope="module")
def found8(scene8):
    return {method: varfocus.reconstruct(scene8.frames, method) for method in METHODS}


def stack_of(images):
    """A stack whatever the width: an array of width 1 to 4 would pass for channels."""
    return FocusStack([ArrayFrame(f"frame {k}", pixels) for k, pixels in enumerate(images)])


# Symmetry


@pytest.mark.parametrize("method", METHODS)
def test_transposing_commutes(scene, found, method):
    other = varfocus.reconstruct(scene.frames.transpose(0, 2, 1), method)
    np.testing.assert_allclose(other.index.T, found[method].index, atol=FLOAT_ACCURACY)
    np.testing.assert_allclose(other.confidence.T, found[method].confidence, atol=2e-3)
    np.testing.assert_allclose(other.fused.T, found[method].fused, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_reversing_the_stack_commutes(scene, found, method):
    other = varfocus.reconstruct(scene.frames[::-1], method)
    np.testing.assert_allclose(N - 1 - other.index, found[method].index, atol=FLOAT_ACCURACY)
    np.testing.assert_allclose(other.fused, found[method].fused, atol=1e-4)


@pytest.mark.parametrize("axis", [1, 2])
def test_flips_commute_for_the_classical_method(scene, found, axis):
    other, same = varfocus.reconstruct(np.flip(scene.frames, axis), "classic"), found["classic"]
    np.testing.assert_allclose(np.flip(other.index, axis - 1), same.index, atol=FLOAT_ACCURACY)
    flipped = np.flip(other.confidence, axis - 1)
    np.testing.assert_allclose(flipped, same.confidence, atol=2e-3)


@pytest.mark.parametrize("axis", [1, 2])
def test_flips_commute_for_the_paper_but_for_the_forward_differences(scene, found, axis):
    """The isotropic norm pairs each pixel with its right and lower neighbour, not with the left.

    So the two energies differ a little; their minima must lie much closer to each other than to
    the truth.
    """
    other = np.flip(varfocus.reconstruct(np.flip(scene.frames, axis), "paper").index, axis - 1)
    difference = np.abs(other - found["paper"].index)
    assert difference.mean() < 0.12
    assert (difference > 0.5).mean() < 0.02


@pytest.mark.parametrize("axis", [1, 2])
def test_flips_commute_for_the_paper_without_a_regulariser(scene, axis):
    there = varfocus.reconstruct(scene.frames, alpha=0).index
    back = np.flip(varfocus.reconstruct(np.flip(scene.frames, axis), alpha=0).index, axis - 1)
    np.testing.assert_allclose(back, there, atol=1e-2)


@pytest.mark.parametrize("method", METHODS)
def test_three_equal_channels_are_grey(scene, found, method):
    colour = np.repeat(scene.frames[..., None], 3, axis=-1)
    other = varfocus.reconstruct(colour, method)
    np.testing.assert_allclose(other.index, found[method].index, atol=FLOAT_ACCURACY)
    assert other.fused.shape == (48, 61, 3)
    np.testing.assert_array_equal(other.fused[..., 1], other.fused[..., 0])
    # The fusion takes channels for independent witnesses, and believes three rather than one.
    assert psnr(other.fused[..., 1], found[method].fused) > 40


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_channels_does_not_matter(method):
    colour = varfocus.simulate("cone", shape=(24, 25), n=9, colour=True, dtype="float32").frames
    options = {"degree": 5} if method == "paper" else {}
    one = varfocus.reconstruct(colour, method, **options)
    other = varfocus.reconstruct(colour[..., ::-1], method, **options)
    np.testing.assert_allclose(one.index, other.index, atol=FLOAT_ACCURACY)


@pytest.mark.parametrize("method", METHODS)
def test_alpha_is_ignored(rng, scene, found, method):
    rgba = np.repeat(scene.frames[..., None], 4, axis=-1)
    rgba[..., 3] = rng.random(scene.frames.shape)
    opaque = varfocus.reconstruct(rgba[..., :3], method)
    transparent = varfocus.reconstruct(rgba, method)
    np.testing.assert_array_equal(transparent.index, opaque.index)
    assert transparent.fused.shape == (48, 61, 3)


# Gain


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gain", [255.0, 0.25, 1 / 255])
def test_depth_is_independent_of_gain(scene, found, method, gain):
    other = varfocus.reconstruct(scene.frames * np.float32(gain), method)
    np.testing.assert_allclose(other.index, found[method].index, atol=FLOAT_ACCURACY)
    np.testing.assert_allclose(other.confidence, found[method].confidence, atol=2e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("as_type", ["uint16", "float32", "float64"])
def test_the_same_content_in_another_number_type(scene8, found8, method, as_type):
    images = scene8.frames.astype(as_type)
    if as_type == "uint16":
        images = images * np.uint16(257)
    other = varfocus.reconstruct(images, method)
    assert other.fused.dtype == ("uint16" if as_type == "uint16" else "float32")
    difference = np.abs(other.index - found8[method].index)
    # In 8 bit some pixels are equally sharp in two frames; rounding then decides.
    assert (difference > 0.1).mean() < 0.005
    assert difference.mean() < 5e-3


def test_absolute_normalisation_depends_on_gain(scene):
    bright, dark = (
        varfocus.reconstruct(gain * scene.frames, normalisation="absolute").index
        for gain in (np.float32(1), np.float32(0.1))
    )
    assert np.abs(bright - dark).mean() > 0.2
    assert np.ptp(dark) < np.ptp(bright)  # a dark stack is over-smoothed


# Sizes


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(1, 2), (1, 40), (40, 1), (2, 3), (13, 31), (64, 5)])
def test_any_size(rng, method, shape):
    images = rng.random((N, *shape), dtype=np.float32)
    result = run(stack_of(images), Params(method))
    for image in (result.index, result.depth, result.confidence, result.fused):
        assert image.shape == shape
        assert np.isfinite(image).all()
    assert 0 <= result.index.min() <= result.index.max() <= N - 1


@pytest.mark.parametrize("method", METHODS)
def test_one_pixel_wide_is_one_pixel_high_on_its_side(rng, method):
    images = rng.random((N, 40, 1), dtype=np.float32)
    wide, high = (run(stack_of(i), Params(method)) for i in (images, images.transpose(0, 2, 1)))
    np.testing.assert_allclose(wide.index, high.index.T, atol=FLOAT_ACCURACY)


@pytest.mark.parametrize("method", METHODS)
def test_a_single_pixel_has_no_neighbour_to_differ_from(rng, method):
    with pytest.raises(NoContrastError):
        run(stack_of(rng.random((N, 1, 1), dtype=np.float32)), Params(method))


def test_three_frames_are_enough(rng):
    """Contrast is a Gaussian over focus, sharpest in frame 0, 1, 2 from left to right."""
    texture = rng.random((30, 60), dtype=np.float32) - np.float32(0.5)
    sharpest = np.repeat([0, 1, 2], 20)
    images = np.stack([texture * np.exp(-0.5 * (k - sharpest) ** 2) for k in range(3)])
    classic = varfocus.reconstruct(images, "classic", window=5)
    with pytest.warns(VarfocusWarning, match=r"3 frames support .* degree 2, not 8"):
        paper = varfocus.reconstruct(images, "paper")
    for k in range(3):
        inside = np.s_[:, 20 * k + 4 : 20 * k + 16]
        np.testing.assert_allclose(classic.index[inside], k, atol=1e-3)
        assert np.abs(paper.index[inside] - k).mean() < 0.3


# Limits of α


def test_without_a_regulariser_each_pixel_takes_its_own_maximum(scene):
    images = scene.frames[:, 10:18, 20:31]
    index = varfocus.reconstruct(images, alpha=0, normalisation="none").index
    contrast = np.stack([mlap(image) for image in images]).astype(np.float64)
    t = 2 * np.arange(N) / (N - 1) - 1
    fine = np.linspace(-1, 1, 5001)
    for i, j in np.ndindex(index.shape):
        a = chebyshev.chebfit(t, contrast[:, i, j], 8)
        best = chebyshev.chebval(fine, a).max()
        reached = chebyshev.chebval(2 * float(index[i, j]) / (N - 1) - 1, a)
        assert reached >= best - 1e-4 * np.abs(contrast[:, i, j]).max()


def test_without_a_regulariser_there_is_nothing_to_iterate(scene):
    assert varfocus.reconstruct(scene.frames, alpha=0).trace is None


def test_a_huge_weight_leaves_one_depth_for_all(scene):
    """And that one maximises the sum of all contrast curves."""
    index = varfocus.reconstruct(scene.frames, alpha=1000).index
    assert np.ptp(index) < 1e-3
    contrast = np.stack([mlap(image) for image in scene.frames]).astype(np.float64)
    peak = contrast.max(axis=0)
    total = (contrast / (peak + np.median(peak))).sum(axis=(1, 2))
    fine = np.linspace(-1, 1, 2801)
    fit = chebyshev.chebfit(2 * np.arange(N) / (N - 1) - 1, total, 8)
    best = (fine[chebyshev.chebval(fine, fit).argmax()] + 1) / 2 * (N - 1)
    assert index.mean() == pytest.approx(best, abs=0.02)


def test_a_larger_weight_is_smoother(scene):
    def variation(alpha):
        index = varfocus.reconstruct(scene.frames, alpha=alpha).index
        return np.abs(np.diff(index, axis=0)).sum() + np.abs(np.diff(index, axis=1)).sum()

    amounts = [variation(alpha) for alpha in (0, 1 / 32, 1 / 8, 1 / 2)]
    assert amounts == sorted(amounts, reverse=True)


# Focus positions


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "focus",
    [
        np.linspace(2, 9, N),
        np.linspace(9, 2, N),
        np.geomspace(0.05, 0.5, N),
        -(np.arange(N) ** 2.0),
    ],
    ids=["uniform", "decreasing", "non-uniform", "negative"],
)
def test_depth_is_the_position_at_the_index(scene, found, method, focus):
    result = varfocus.reconstruct(scene.frames, method, focus=focus, unit="mm")
    np.testing.assert_array_equal(result.index, found[method].index)
    expected = np.interp(result.index, np.arange(N), focus)
    np.testing.assert_allclose(result.depth, expected, rtol=1e-6)
    assert result.depth.dtype == np.float32
    assert result.unit == "mm"


def test_units(scene):
    assert varfocus.reconstruct(scene.frames, "classic").unit == "frames"
    assert varfocus.reconstruct(scene.frames, "classic", focus=np.arange(N)).unit == "units"
    assert varfocus.reconstruct(scene.stack, "classic").unit == "m"
    other = varfocus.reconstruct(scene.stack, "classic", focus=100 * scene.focus, unit="cm")
    assert other.unit == "cm"
    np.testing.assert_allclose(
        other.depth, 100 * varfocus.reconstruct(scene.stack, "classic").depth, rtol=1e-5
    )


def test_depth_of_a_reversed_stack_is_the_same_physical_depth(scene):
    there = varfocus.reconstruct(scene.stack, "classic").depth
    back = varfocus.reconstruct(scene.stack.reversed(), "classic").depth
    np.testing.assert_allclose(back, there, atol=1e-5)


# Known surfaces


@pytest.mark.parametrize(
    ("shape", "paper", "classic"),
    [("cone", 0.6, 0.35), ("plane", 0.5, 0.35), ("cosine", 0.7, 0.4), ("sphere", 0.5, 0.35)],
)
def test_known_surfaces_without_noise(shape, paper, classic):
    """Errors in frames: half a frame is 1.6 cm of 45."""
    scene = varfocus.simulate(shape, shape=(96, 96), n=N, noise=0)
    found = varfocus.reconstruct(scene.stack)
    assert rmse(found.index, scene.truth_index) < paper
    assert bad_pixels(found.index, scene.truth_index) < 0.1
    plain = varfocus.reconstruct(scene.stack, "classic", window=9, gauss_step=1)
    assert rmse(plain.index, scene.truth_index) < classic
    assert bad_pixels(plain.index, scene.truth_index) < 0.02
    assert 100 * rmse(found.depth, scene.truth_depth) < paper * 45 / 14 * 1.05


def test_known_surface_with_noise():
    scene = varfocus.simulate("plane", shape=(96, 96), n=N)
    paper = varfocus.reconstruct(scene.stack)
    classic = varfocus.reconstruct(scene.stack, "classic")
    assert rmse(paper.index, scene.truth_index) < 0.6
    assert rmse(classic.index, scene.truth_index) > 2 * rmse(paper.index, scene.truth_index)
    better = varfocus.reconstruct(scene.stack, "classic", window=21, median=5)
    assert rmse(better.index, scene.truth_index) < 0.8
    single = max(psnr(frame / 255.0, scene.sharp) for frame in scene.frames)
    assert psnr(paper.fused / 255.0, scene.sharp) > single + 4


@pytest.mark.parametrize("solver", ["admm", "penalty", "forward-backward"])
def test_every_solver_lowers_the_energy_and_finds_the_surface(solver):
    scene = varfocus.simulate("plane", shape=(48, 48), n=N, noise=0)
    # Forward–backward splitting converges only with a step its theory allows.
    steps = {"iterations": 60, "tau": 2.0} if solver == "forward-backward" else {}
    result = varfocus.reconstruct(scene.stack, solver=solver, alpha=1 / 16, **steps)
    assert result.trace.energy[-1] < result.trace.start_energy
    assert len(result.trace.energy) == steps.get("iterations", 400)
    assert rmse(result.index, scene.truth_index) < 0.8


# Confidence


@pytest.mark.parametrize("name", ["table", "steps"])
@pytest.mark.parametrize("method", METHODS)
def test_confidence_tells_right_from_wrong(name, method):
    scene = varfocus.simulate(name, shape=(96, 120), n=N)
    result = varfocus.reconstruct(scene.stack, method)
    confidence = result.confidence
    assert confidence.dtype == np.float32
    assert 0 <= confidence.min() < confidence.max() <= 1
    error = np.abs(result.index - scene.truth_index)
    known = np.isfinite(error)
    right = error[known] <= 1
    sure = confidence[known]
    assert sure[right].mean() > sure[~right].mean() + 0.15
    ranks = rankdata(sure)[right]
    pairs = right.sum() * (~right).sum()
    area_under_curve = (ranks.sum() - right.sum() * (right.sum() + 1) / 2) / pairs
    assert area_under_curve > 0.8


# How it talks


def test_parameters_by_keyword(scene):
    result = varfocus.reconstruct(
        scene.frames, alpha=1 / 4, degree=6, iterations=7, start_window=5, normalisation="none"
    )
    assert result.params.solve.alpha == 1 / 4
    assert result.params.curve.degree == 6
    assert result.params.start.start_window == 5
    assert result.params.contrast.normalisation == "none"
    assert result.trace.iterations[-1] == 7
    with pytest.raises(ParameterError, match="Did you mean 'alpha'"):
        varfocus.reconstruct(scene.frames, alpa=1 / 4)
    with pytest.raises(ParameterError, match="'window' belongs to 'classic'"):
        varfocus.reconstruct(scene.frames, "paper", window=41)
    with pytest.raises(ParameterError, match="received method = 'magic'"):
        varfocus.reconstruct(scene.frames, "magic")


def test_parameters_are_checked_before_pixels():
    with pytest.raises(ParameterError, match="alpha"):
        varfocus.reconstruct(np.full((5, 4, 6), np.nan), alpha=-1)


@pytest.mark.parametrize("method", METHODS)
def test_the_result_is_the_same_every_time(scene, found, method):
    again = varfocus.reconstruct(scene.frames, method)
    np.testing.assert_array_equal(again.index, found[method].index)
    np.testing.assert_array_equal(again.confidence, found[method].confidence)


def test_the_input_is_left_alone(scene):
    images = scene.frames.copy()
    for method in METHODS:
        varfocus.reconstruct(images, method)
    np.testing.assert_array_equal(images, scene.frames)


@pytest.mark.parametrize(
    ("method", "stages"),
    [("paper", ["contrast", "minimising", "fusing"]), ("classic", ["contrast", "fusing"])],
)
def test_progress(scene, method, stages):
    seen = []
    extra = {"iterations": 20} if method == "paper" else {}
    result = varfocus.reconstruct(scene.frames, method, progress=lambda *s: seen.append(s), **extra)
    assert "fusing" not in {stage for stage, _, _ in seen}, "made before anybody asked for it"
    assert result.fused.shape == scene.frames.shape[1:]
    assert list(dict.fromkeys(stage for stage, _, _ in seen)) == stages
    for stage in stages:
        done = [d for s, d, _ in seen if s == stage]
        (total,) = {t for s, _, t in seen if s == stage}
        assert done == sorted(done)
        assert done[-1] == total == (20 if stage == "minimising" else N)


@pytest.mark.parametrize("stage", ["contrast", "minimising", "fusing"])
def test_an_exception_in_the_listener_cancels(scene, stage):
    class EnoughError(Exception):
        pass

    def listener(name, done, total):
        if name == stage and done >= 1:
            raise EnoughError

    with pytest.raises(EnoughError):
        assert varfocus.reconstruct(scene.frames, progress=listener, iterations=20).fused.size


def test_a_lowered_degree_is_a_warning(scene):
    nine = scene.frames[3:12]
    with pytest.warns(VarfocusWarning, match="9 frames support .* degree 5, not 8") as caught:
        result = varfocus.reconstruct(nine, "paper")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert [str(caught[0].message)] == list(result.warnings)
    assert result.params.curve.degree == 5
    assert varfocus.reconstruct(nine, degree=5).warnings == ()
    assert varfocus.reconstruct(nine, "classic").warnings == ()


def test_run_lists_warnings_without_issuing_them(scene):
    result = run(FocusStack.from_array(scene.frames[3:12]), Params("paper"))
    assert len(result.warnings) == 1


def test_auto_is_robust_or_the_paper_where_memory_is_short(scene):
    assert varfocus.reconstruct(scene.frames).params.method == "robust"
    with pytest.warns(VarfocusWarning, match="“robust” would need .* “paper” was used instead"):
        result = varfocus.reconstruct(scene.frames, max_memory="1.5MB")
    assert result.params.method == "paper"
    with pytest.raises(TooLargeError, match="need about"):
        varfocus.reconstruct(scene.frames, "robust", max_memory="1.5MB")


@pytest.mark.parametrize("method", ["auto", "robust"])
def test_the_edge_stage_is_left_out_where_memory_is_short(scene, method):
    stack = FocusStack.from_array(scene.frames)
    with_edges, without = (
        needed_bytes(stack, Params.from_keywords("robust", edges=edges))
        for edges in ("auto", "off")
    )
    frames = min(len(stack), 16) * stack.channels * stack.dtype.itemsize
    assert with_edges - without >= frames * scene.frames[0].size // stack.channels
    with pytest.warns(VarfocusWarning, match="edge stage would need .* it was left out"):
        result = varfocus.reconstruct(scene.frames, method, max_memory=f"{with_edges - 1}")
    assert result.params.method == "robust"
    assert result.params.robust.edges == "off"


@pytest.mark.parametrize(("n", "degree"), [(3, 2), (4, 2), (5, 3), (9, 5), (14, 7), (15, 8)])
def test_fitting_degree(scene, n, degree):
    params, notes = fitting_degree(FocusStack.from_array(scene.frames[:n]), Params("paper"))
    assert params.curve.degree == degree
    assert bool(notes) == (degree < 8)


@pytest.mark.parametrize("method", METHODS)
def test_input_that_cannot_be_used(scene, method):
    with pytest.raises(TooFewFramesError, match="received 2 frames"):
        varfocus.reconstruct(scene.frames[:2], method)
    with pytest.raises(NoContrastError, match="constant"):
        varfocus.reconstruct(np.full((N, 8, 9), 7, np.uint8), method)
    broken = scene.frames.copy()
    broken[4, 3, 2] = np.inf
    with pytest.raises(NotFiniteError, match="frame 4: 1 of"):
        varfocus.reconstruct(broken, method)


def test_a_surface_at_an_end_of_the_stack_is_a_warning():
    (said,) = out_of_range((0.0, 1.0), 15)
    assert "100% of the pixels are sharpest in the last frame" in said
    assert out_of_range((0.05, 0.05), 15) == []


class _Counted:
    """A frame that counts how often it is decoded."""

    def __init__(self, pixels):
        self.name, self.pixels, self.times = "frame", pixels, 0

    shape, dtype = (
        property(lambda self: self.pixels.shape),
        property(lambda self: self.pixels.dtype),
    )

    def read(self):
        self.times += 1
        return self.pixels.copy()


def test_a_few_frames_are_decoded_once_and_let_go_with_the_picture(scene8):
    frames = [_Counted(pixels) for pixels in scene8.frames]
    result = run(FocusStack(frames), Params.from_keywords("robust", align="none"))
    assert {frame.times for frame in frames} == {1}
    image = result.fused
    assert {frame.times for frame in frames} == {1}
    assert all(frame.pixels is None for frame in result.stack.frames)
    np.testing.assert_array_equal(result.stack.read(3), scene8.frames[3])
    assert all(frame.pixels is None for frame in result.stack.frames)
    plain = run(FocusStack.from_array(scene8.frames), Params.from_keywords("robust", align="none"))
    np.testing.assert_array_equal(image, plain.fused)


def test_frames_are_not_held_beyond_a_limit(scene8, monkeypatch):
    monkeypatch.setattr("varfocus.plan.MOST_HELD", scene8.frames.nbytes - 1)
    frames = [_Counted(pixels) for pixels in scene8.frames]
    result = run(FocusStack(frames), Params.from_keywords("robust", align="none"))
    assert result.stack.frames[0] is frames[0]


@pytest.mark.parametrize("asked", ["confidence", "fused"])
def test_the_lead_of_a_depth_is_made_when_it_is_needed(scene, monkeypatch, asked):
    made = []
    margin = paper._margin
    monkeypatch.setattr(paper, "_margin", lambda *given: made.append(1) or margin(*given))
    result = varfocus.reconstruct(scene.frames, "paper")
    assert result.depth.shape == result.index.shape
    assert not made
    for name in (asked, "confidence", "fused"):
        assert getattr(result, name) is not None
        assert len(made) == 1
    # What it is made of is let go: it would take memory for as long as the result lives.
    assert result.products.found.lead._make is None
