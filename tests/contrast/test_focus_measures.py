"""Focus measures: what each is, what all have in common, and how one is chosen."""

import json

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

import varfocus
from result_folders import in_small_tiles
from varfocus import engine
from varfocus.contrast import (
    MEASURES,
    gaussian,
    gradient_energy,
    kernel_scales,
    mlap,
    reach,
    register,
    ring_difference,
    scales,
    sum_modified_laplacian,
    tenengrad,
    unregister,
    wavelet,
)
from varfocus.contrast.focus_measures import RING
from varfocus.curve import frame_pass
from varfocus.errors import ParameterError
from varfocus.params import MEASURE_NAMES, MeasureName, Params, RobustParams, get_args
from varfocus.pipeline import run
from varfocus.stack import FocusStack

NAMES = sorted(MEASURES)
POWER = dict.fromkeys(NAMES, 1) | {"tenengrad": 2}
"""How contrast grows with the gain of the frame."""


def local_range(image):
    """Contrast as people would write it down: the range over 3×3 pixels."""
    planes = image[..., None] if image.ndim == 2 else image
    return sum(
        ndimage.maximum_filter(plane, 3) - ndimage.minimum_filter(plane, 3)
        for plane in np.moveaxis(planes, -1, 0)
    )


def reconstruct(frames, method, **choice):
    """Few frames, of which the paper's method would say so."""
    degree = {"degree": 5} if method == "paper" else {}
    return varfocus.reconstruct(frames, method, align="none", **degree, **choice)


@pytest.fixture
def registered():
    register("local-range", local_range, reach=1)
    yield "local-range"
    unregister("local-range")


@pytest.fixture(scope="module")
def edge_sequence():
    """A step edge in seven frames, in focus in the fifth."""
    step = np.where(np.arange(48) < 24, 0.2, 0.8) * np.ones((40, 1))
    return [ndimage.gaussian_filter(step, 0.7 * abs(k - 4) + 0.3, mode="nearest") for k in range(7)]


@pytest.fixture(scope="module")
def tilted():
    """Texture on a plane that is sharp from frame 1 at the left to frame 7 at the right."""
    texture = np.random.default_rng(5).random((48, 60))
    peak = np.linspace(1, 7, 60)
    levels = [ndimage.gaussian_filter(texture, s) if s else texture for s in np.linspace(0, 4, 33)]
    frames = []
    for k in range(9):
        blur = np.clip(np.rint(8 * 0.5 * np.abs(k - peak)), 0, 32).astype(int)
        frames.append(np.stack([levels[b][:, x] for x, b in enumerate(blur)], axis=1))
    return np.stack(frames).astype(np.float32), peak


def test_the_names_are_those_of_the_parameter():
    assert set(NAMES) == set(get_args(MeasureName)) == MEASURE_NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (17, 23), (9, 12, 3)])
def test_contrast_is_a_map_that_is_nowhere_negative(name, shape, rng):
    image = rng.random(shape, dtype=np.float32)
    contrast = MEASURES[name].contrast(image)
    assert contrast.shape == shape[:2]
    assert contrast.dtype == np.float32
    assert (contrast >= 0).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
def test_a_constant_frame_has_no_contrast(name, value):
    contrast = MEASURES[name].contrast(np.full((14, 15, 3), value))
    np.testing.assert_allclose(contrast, 0.0, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_contrast_grows_with_the_gain_and_not_with_the_offset(name, rng):
    image, measure = rng.random((16, 18)), MEASURES[name].contrast
    np.testing.assert_allclose(measure(4 * image), 4 ** POWER[name] * measure(image), rtol=1e-12)
    np.testing.assert_allclose(measure(image + 7), measure(image), atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_contrast_turns_with_the_frame(name, rng):
    image, measure = rng.random((16, 18)), MEASURES[name].contrast
    for turn in (np.flipud, np.fliplr, np.transpose):
        np.testing.assert_allclose(measure(turn(image)), turn(measure(image)), atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_channels_add_up(name, rng):
    image, measure = rng.random((16, 18, 3)), MEASURES[name].contrast
    np.testing.assert_allclose(measure(image), sum(measure(image[..., c]) for c in range(3)))


@pytest.mark.parametrize("name", NAMES)
def test_a_blurred_edge_peaks_where_it_is_sharp(name, edge_sequence):
    # Beside the edge blur spreads contrast: over its whole width the sharpest frame has most.
    energy = [float((MEASURES[name].contrast(frame) ** 2).sum()) for frame in edge_sequence]
    assert int(np.argmax(energy)) == 4
    at_the_edge = [MEASURES[name].contrast(frame)[20, 23:25].max() for frame in edge_sequence]
    assert int(np.argmax(at_the_edge)) == 4


@pytest.mark.parametrize("name", NAMES)
def test_reach_is_what_a_pixel_depends_on(name):
    contrast = MEASURES[name].contrast
    assert reach(name) == reach(lambda image: contrast(image)) == MEASURES[name].reach


@pytest.mark.parametrize("name", NAMES)
def test_a_part_has_the_contrast_of_the_whole(name, rng):
    image, around = rng.random((40, 44), dtype=np.float32), MEASURES[name].reach
    whole = MEASURES[name].contrast(image)
    part = MEASURES[name].contrast(image[5:30, 8:33])
    inner = np.s_[around:-around, around:-around]
    np.testing.assert_array_equal(part[inner], whole[5:30, 8:33][inner])


@given(height=st.integers(1, 12), width=st.integers(1, 12), seed=st.integers(0, 99))
def test_definitions_against_general_convolutions(height, width, seed):
    image = np.random.default_rng(seed).random((height, width))
    window = ndimage.correlate(mlap(image), np.ones((5, 5)), mode="nearest")
    np.testing.assert_allclose(sum_modified_laplacian(image), window, atol=1e-12)
    sobel = sum(ndimage.sobel(image, axis, mode="nearest") ** 2 for axis in (0, 1))
    np.testing.assert_allclose(tenengrad(image), sobel, atol=1e-12)
    y, x = np.mgrid[-4:5, -4:5]
    ring = (np.hypot(y, x) > RING[0]) & (np.hypot(y, x) < RING[1])
    outside = ndimage.correlate(image, ring / ring.sum(), mode="nearest")
    np.testing.assert_allclose(ring_difference(image), np.abs(image - outside), atol=1e-12)
    spline = np.array([1, 4, 6, 4, 1]) / 16
    holes = np.zeros(9)
    holes[::2] = spline
    smooth, detail = image, 0.0
    for taps in (spline, holes):
        before = smooth
        for axis in (0, 1):
            smooth = ndimage.correlate1d(smooth, taps, axis, mode="nearest")
        detail = detail + np.abs(before - smooth)
    np.testing.assert_allclose(wavelet(image), detail, atol=1e-12)


def test_the_ring_is_closed_and_round():
    y, x = np.mgrid[-4:5, -4:5]
    ring = (np.hypot(y, x) > RING[0]) & (np.hypot(y, x) < RING[1])
    assert (ring == ring.T).all()
    assert (ring == ring[::-1]).all()
    assert ndimage.label(ring)[1] == 1
    assert not ring[2:7, 4].any()


@pytest.mark.parametrize("method", ["classic", "paper", "robust"])
@pytest.mark.parametrize("name", NAMES)
def test_every_method_takes_every_measure(method, name, tilted):
    frames, peak = tilted
    result = reconstruct(frames, method, measure=name)
    error = np.abs(result.index - peak)[6:-6, 6:-6]
    assert np.median(error) < 0.5
    assert result.params.sharpness.measure == name


@pytest.mark.parametrize("method", ["classic", "paper", "robust"])
def test_a_function_does_what_its_name_would(method, tilted, registered):
    frames = tilted[0]
    named, given_, usual = (
        reconstruct(frames, method, **choice)
        for choice in ({"measure": registered}, {"measure": local_range}, {})
    )
    np.testing.assert_array_equal(named.depth, given_.depth)
    assert not np.array_equal(named.depth, usual.depth)


def test_the_default_given_by_name_is_the_default(tilted):
    a, b = (
        varfocus.reconstruct(tilted[0], "robust", align="none", **choice)
        for choice in ({}, {"measure": "mlap"})
    )
    np.testing.assert_array_equal(a.depth, b.depth)


def test_mlap_alone_runs_on_the_kernels():
    if not engine.in_use():
        pytest.skip("no engine here")
    frame = np.zeros((9, 9), np.uint8)
    for name in NAMES:
        front = scales.two_scales(frame, 3, (9, 9), 1 / 255, RobustParams(), name)
        assert isinstance(front, kernel_scales.CompactScales) == (name != "mlap")
        passing = frame_pass.contrast_pass(frame, 3, 2, 3, 1 / 255, name)
        assert (type(passing) is frame_pass.ContrastPass) == (name != "mlap")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_compact_contrast_is_that_of_the_kernels(dtype, rng):
    """MLAP by array code in compact numbers, against the kernels."""
    if not engine.in_use():
        pytest.skip("no engine here")
    top = 1.0 if dtype is np.float32 else np.iinfo(dtype).max
    frames = (top * rng.random((3, 30, 33))).astype(dtype)
    fast, slow = (
        make(3, (30, 33), 1 / top, RobustParams(), *more)
        for make, more in ((kernel_scales.TwoScales, ()), (kernel_scales.CompactScales, (mlap,)))
    )
    for k, frame in enumerate(frames):
        fast.add(k, frame)
        slow.add(k, frame)
    np.testing.assert_allclose(
        kernel_scales.decoded(slow.contrast), kernel_scales.decoded(fast.contrast), rtol=2e-3
    )
    np.testing.assert_allclose(slow.strength, fast.strength, rtol=1e-4, atol=1e-6)


def test_compact_numbers_keep_ten_bits(rng):
    contrast = np.concatenate([10.0 ** rng.uniform(-11, 5, 999), [0.0, 1e-20]]).astype(np.float32)
    back = kernel_scales.decoded(kernel_scales.encoded(contrast))
    np.testing.assert_allclose(back, contrast, rtol=2**-11, atol=2.0**-40)
    assert (back[-2:] == 0.0).all()


@pytest.mark.parametrize("method", ["classic", "paper", "robust"])
@pytest.mark.parametrize("measure", ["wavelet", local_range])
def test_tiles_give_what_the_whole_image_gives(method, measure, tilted, tmp_path):
    """The wavelet reaches farthest; how far a function reaches is found out."""
    if not engine.in_use():
        pytest.skip("tiles need the engine")
    stack = FocusStack.from_array(np.tile(tilted[0], (1, 3, 3)))
    few = {"robust": {"edges": "off"}, "paper": {"degree": 5, "iterations": 20}}
    choice = few.get(method, {}) | {"align": "none", "measure": measure}
    params = Params.from_keywords(method, **choice)
    tiled = in_small_tiles(stack, params, tmp_path, side=64)
    np.testing.assert_array_equal(tifffile.imread(tiled.files["depth"]), run(stack, params).depth)


def test_a_function_is_on_record_by_name_and_cannot_be_repeated(tilted, tmp_path):
    result = varfocus.reconstruct(tilted[0], "classic", measure=local_range, align="none")
    result.save(tmp_path)
    recorded = json.loads((tmp_path / "run.json").read_text())["parameters"]
    assert recorded["measure"] == f"function:{__name__}.local_range"
    with pytest.raises(ParameterError, match="Python function of an earlier run") as caught:
        Params.from_keywords(**recorded)
    assert "reconstruct(stack, measure=" in caught.value.remedy


def test_a_name_is_on_record_and_repeats(tilted, tmp_path):
    result = varfocus.reconstruct(tilted[0], "classic", measure="tenengrad", align="none")
    result.save(tmp_path)
    recorded = json.loads((tmp_path / "run.json").read_text())["parameters"]
    assert Params.from_keywords(**recorded) == result.params


def test_objects_and_partial_functions_have_names_too():
    from functools import partial

    class Measure:
        def __call__(self, image):
            return mlap(image)

    for measure in (Measure(), partial(gaussian, sigma=1.0), lambda image: mlap(image)):
        named = Params.from_keywords("robust", measure=measure).as_keywords()["measure"]
        assert named.startswith("function:")
        json.dumps(named)


@pytest.mark.parametrize("wrong", ["mlpa", "", 3, None])
def test_unknown_names_are_refused_at_once(wrong):
    with pytest.raises(ParameterError, match="received measure") as caught:
        Params.from_keywords("robust", measure=wrong)
    assert "'ring-difference'" in caught.value.expected


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        (lambda image: image[1:], "shape"),
        (lambda image: image - 1.0, "below zero"),
        (lambda image: image + np.nan, "NaN"),
    ],
)
def test_what_is_no_contrast_is_refused(measure, words, tilted):
    with pytest.raises(ParameterError, match=words):
        varfocus.reconstruct(tilted[0], "classic", measure=measure, align="none")


def test_names_are_given_once(registered):
    assert registered in MEASURE_NAMES
    for name in (registered, "mlap", "", "function:mine"):
        with pytest.raises(ParameterError, match="name of a focus measure"):
            register(name, gradient_energy, 1)
    with pytest.raises(ParameterError, match="reach"):
        register("another", gradient_energy, -1)
    with pytest.raises(ParameterError, match="registered"):
        unregister("mlap")


def test_the_reach_of_functions():
    def wide(image):
        return ndimage.uniform_filter(mlap(image), 21, mode="nearest")

    assert reach(wide) == 11
    wide.reach = 15
    assert reach(wide) == 15
    with pytest.raises(ParameterError, match="whole frame"):
        reach(lambda image: np.abs(image - image.mean()))
    with pytest.raises(ParameterError, match="expected one of"):
        reach("nothing")
