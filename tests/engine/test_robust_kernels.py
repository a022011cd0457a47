"""The kernels of the robust method against the array code that defines them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import depth, seeds, shapes, threads
from test_front import KINDS, TYPES, frames_of, strided

from varfocus import engine, plan
from varfocus.contrast import scales
from varfocus.contrast.kernel_scales import decoded, half_gaussian
from varfocus.curve import coordinate, templates
from varfocus.curve.cubic import catmull_rom, curvature
from varfocus.curve.likelihood import Model
from varfocus.curve.peaks import Peaks
from varfocus.energy import VolumeTerm, WindowTerm
from varfocus.errors import ParameterError
from varfocus.minimise import tgv
from varfocus.minimise.banded_search import (
    NOTHING,
    TEMPLATE_ERROR,
    band_count,
    compressed,
    padded,
    volume_bytes,
)
from varfocus.minimise.banded_search import Search as OnKernels
from varfocus.minimise.search import Search
from varfocus.minimise.semi_global import PATHS, lowest, second_well, semi_global
from varfocus.params import Params, Resources, RobustParams
from varfocus.pipeline import estimate, run
from varfocus.simulation import simulate
from varfocus.stack import FocusStack

labels = st.integers(14, 50)


@given(
    seeds,
    shapes,
    st.integers(1, 3),
    st.sampled_from([0, 1, 3, 4]),
    st.sampled_from(list(TYPES)),
    st.sampled_from(KINDS),
    st.sampled_from([(0.1, 0.1), (0.3, 0.5), (1.0, 1.25), (0.6, 2.0), (2.5, 0.9)]),
    threads,
)
def test_contrast_at_two_scales(seed, shape, n, channels, dtype, kind, sigmas, count):
    frames = strided(frames_of(seed, n, shape, channels, dtype), kind)
    params = RobustParams(coarse_blur=sigmas[0], support=sigmas[1])
    fast = scales.two_scales(frames[0], n, shape, TYPES[dtype], params)
    assert type(fast).__module__ == "varfocus.contrast.kernel_scales"
    exact = scales.TwoScales(n, shape, TYPES[dtype], params)
    with engine.use_threads(count):
        for k, frame in enumerate(frames):
            fast.add(k, frame)
            exact.add(k, frame[..., :3] if frame.ndim == 3 else frame)
    # Ten bits of mantissa, and float32 arithmetic in another order.
    np.testing.assert_allclose(decoded(fast.contrast), exact.contrast, rtol=6e-4, atol=3e-6)
    np.testing.assert_allclose(fast.gradient, exact.gradient, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(fast.strength, exact.strength, rtol=1e-4, atol=1e-5)
    everything = slice(None), slice(None)
    np.testing.assert_allclose(
        fast.curves(1, *everything), exact.curves(1, *everything), rtol=6e-4, atol=3e-6
    )


@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0, 1.25, 3.3])
def test_gaussian_is_that_of_scipy(sigma):
    from scipy.ndimage import gaussian_filter1d

    half = half_gaussian(sigma)
    impulse = np.zeros(2 * len(half) + 1)
    impulse[len(half)] = 1.0
    expected = gaussian_filter1d(impulse, sigma)[len(half) : -1]
    np.testing.assert_allclose(half, expected, atol=1e-7)


def test_frames_that_do_not_belong_are_refused():
    frame = np.zeros((4, 5, 3), np.uint8)
    fast = scales.two_scales(frame, 3, (4, 5), 1 / 255, RobustParams())
    with pytest.raises(ParameterError, match="expected"):
        fast.add(0, frame[:3])
    with pytest.raises(ParameterError, match="frame number 3"):
        fast.add(3, frame)


@given(
    seeds, st.integers(1, 4), st.integers(1, 20), st.integers(3, 40), st.integers(1, 90), threads
)
def test_template_products(seed, widths, count, n, pixels, thread_count):
    rng = np.random.default_rng(seed)
    bank = rng.standard_normal((widths, count, n)).astype(np.float32)
    v = rng.standard_normal((n, pixels)).astype(np.float32)
    with engine.use_threads(thread_count):
        S, (best, width, label) = templates.explained(bank, v), templates.best_match(bank, v)
    with engine.switched_off():
        np.testing.assert_allclose(S, templates.explained(bank, v), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(best, templates.best_match(bank, v)[0], rtol=1e-4, atol=1e-4)
    chosen = np.einsum("pk,kp->p", bank[width, label], v)
    np.testing.assert_allclose(chosen, best, rtol=1e-4, atol=1e-4)


@given(seeds, st.integers(1, 4), labels, st.integers(2, 12), st.integers(1, 70), threads)
def test_products_on_an_axis_and_on_its_mirror_image(seed, widths, count, n, pixels, thread_count):
    rng = np.random.default_rng(seed)
    bank = rng.standard_normal((widths, count, n)).astype(np.float32)
    v = rng.standard_normal((n, pixels)).astype(np.float32)
    with engine.use_threads(thread_count):
        both = templates.best_matches(bank, v)
    with engine.switched_off():
        expected = templates.best_matches(bank, v)
    mirrored = bank[:, ::-1, ::-1]
    for ours, theirs, seen in zip(both, expected, (bank, mirrored), strict=True):
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-4)
        chosen = np.einsum("pk,kp->p", seen[ours[1], ours[2]], v)
        np.testing.assert_allclose(chosen, ours[0], rtol=1e-4, atol=1e-4)


def model_of(n, count, noise=(0.5, 0.3), mirrored=True):
    """Return a model on an axis that is its own mirror image, or on one that is not."""
    axis = coordinate.frames(n) if mirrored else coordinate.position(np.arange(n) ** 1.1)
    unit = max(n / 12, 1.0)  # wide enough for many frames to be compressed
    banks = tuple(
        Peaks.of_formula(templates.Bank(axis, p, unit * np.geomspace(w, 2 * w, 3), 0.1))
        for p, w in ((2.0, 1.2), (3.0, 2.0))
    )
    return Model(axis, banks, noise, count, 1.7)


def some_search(seed, shape, n, count, bands=1, mirrored=True):
    """Return the same search on the kernels and in array code."""
    rng = np.random.default_rng(seed)
    contrast = rng.integers(30000, 41000, (2 * n, *shape)).astype(np.uint16)  # about 2⁻¹¹ to 1
    lost = rng.random(shape, np.float32)
    ends = np.linspace(1.0, 0.0, count, dtype=np.float32)
    jump = rng.uniform(0.2, 1.0, shape).astype(np.float32)
    how = (model_of(n, count, mirrored=mirrored), lost, ends, 0.15, jump)
    return OnKernels(contrast, *how, None, bands), lambda: Search(decoded(contrast), *how)


@given(seeds, shapes, st.one_of(st.integers(3, 12), st.just(60)), labels, threads, st.booleans())
def test_cost_and_what_is_read_off_it(seed, shape, n, count, thread_count, mirrored):
    fast, make_exact = some_search(seed, shape, n, count, mirrored=mirrored)
    assert bool(fast._even) == mirrored
    with engine.use_threads(thread_count):
        start = fast.start()
        label = np.random.default_rng(seed).uniform(0, count - 1, shape).astype(np.float32)
        judged = fast.judge(label, 4.5, 3)
    with engine.switched_off():
        exact = make_exact()
        expected = exact.judge(label, 4.5, 3)
    cost = np.moveaxis(fast._volumes[0][..., :count], 2, 0)
    np.testing.assert_allclose(cost, exact._cost, atol=2e-4)
    total = np.moveaxis(fast._volumes[1][..., :count], 2, 0)
    np.testing.assert_allclose(total, exact._total, atol=4e-3)
    np.testing.assert_allclose(start, lowest(total), atol=2e-3)
    for ours, theirs, slack in zip(judged, expected, (1e-3, 4e-3, 5e-4), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=slack)


def pack(cost):
    """Return (L, H, W) costs as the kernels want them."""
    out = np.full((*cost.shape[1:], padded(len(cost))), 1e30, np.float32)
    out[..., : len(cost)] = np.moveaxis(cost, 0, 2)
    return out


@given(seeds, shapes, st.integers(3, 40), threads)
def test_semi_global_sums(seed, shape, count, thread_count):
    rng = np.random.default_rng(seed)
    cost = rng.standard_normal((count, *shape)).astype(np.float32)
    jump = rng.uniform(0.3, 1.5, shape).astype(np.float32)
    volume = pack(cost)
    total = np.empty_like(volume)
    for upward in (False, True):
        engine.kernels.semi_global(
            volume, 0.2, jump, 0, upward, NOTHING, total, NOTHING, thread_count
        )
    expected = semi_global(cost, 0.2, jump)
    # A path cost half way between two multiples of 2⁻¹⁴ may go either way.
    np.testing.assert_allclose(np.moveaxis(total[..., :count], 2, 0), expected, atol=1e-4)
    # Sums are exact, so those of a mirrored image are the same bits in mirrored places.
    turned, mirrored = pack(cost[:, ::-1, ::-1]), np.empty_like(volume)
    back = np.ascontiguousarray(jump[::-1, ::-1])
    for upward in (False, True):
        engine.kernels.semi_global(
            turned, 0.2, back, 0, upward, NOTHING, mirrored, NOTHING, thread_count
        )
    np.testing.assert_array_equal(mirrored[::-1, ::-1, :count], total[..., :count])
    label = rng.uniform(0, count - 1, shape).astype(np.float32)
    lead, bend, value = np.empty((3, *shape), np.float32)
    engine.kernels.judge(total, volume, count, label, 2.5, 1, lead, bend, value, thread_count)
    np.testing.assert_allclose(lead / PATHS, second_well(expected, label, 2.5), atol=1e-4)
    np.testing.assert_allclose(bend, curvature(expected, label, 1), atol=1e-4)
    np.testing.assert_allclose(value, catmull_rom(cost, label)[0], atol=1e-4)


@given(seeds, shapes, st.integers(2, 9), threads)
def test_bands_do_not_change_a_bit(seed, shape, bands, thread_count):
    with engine.use_threads(thread_count):
        (whole, _), (banded, _) = (some_search(seed, shape, 5, 20, b) for b in (1, bands))
        start = whole.start()
        np.testing.assert_array_equal(banded.start(), start)
        for ours, theirs in zip(
            banded.judge(start, 3.0, 2), whole.judge(start, 3.0, 2), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
        ours, theirs = banded.term(), whole.term()
        for name in ("samples", "scale", "base", "offsets"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_bands_are_as_many_as_memory_demands():
    shape, n, count = (1000, 800), 15, 57
    assert band_count(shape, n, count, None) == 1
    for on_disk in (False, True):

        def size(bands, on_disk=on_disk):
            return volume_bytes(shape, n, count, bands, on_disk)

        def bands(room, on_disk=on_disk):
            return band_count(shape, n, count, room, on_disk)

        assert bands(size(1)) == 1
        assert size(bands(2e8)) <= 2e8 < size(1)
        assert size(bands(1e8)) <= 1e8
        assert bands(0) == bands(size(bands(1e8)) / 1e3)
        assert band_count((1, 1), n, count, 0, on_disk) == 1


def rebuilt(basis, bank, even, given, n):
    """Return the templates that a kernel is told by `compressed`."""
    if basis.size == 0:
        halves = [templates.folded(row) for row in np.eye(n)]
        basis = np.stack([np.transpose(halves) if even else np.eye(n)] * len(bank))
    told = np.einsum("swrl,srk->swlk", bank, basis)[:, :, :given]
    sign = np.where(np.arange(bank.shape[2]) < even, 1, -1)[:, None]
    seen_backwards = np.einsum("swrl,srk->swlk", bank, sign * basis)[:, :, :given]
    return told, seen_backwards


@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize("n", [7, 8, 48, 200])
def test_templates_are_combinations_of_few_curves(n, mirrored):
    count, axis = (
        129,
        coordinate.frames(n) if mirrored else coordinate.position(np.arange(n) ** 1.1),
    )
    unit = abs(axis.x[-1]) / 12
    banks = tuple(
        Peaks.of_formula(templates.Bank(axis, 2.0, np.geomspace(w, 2 * w, 5), 0.1))
        for w in (unit, 1.4 * unit)
    )
    model = Model(axis, banks, (1.0, 1.0), count, 1.0)
    basis, bank, even = compressed(model)
    assert basis.flags.c_contiguous
    assert (basis.size > 0) == (n >= 48)
    assert basis.shape[1] < 0.85 * n
    assert bool(even) == mirrored
    given = (count + 1) // 2 if mirrored else count
    told, backwards = rebuilt(basis, bank, even, given, n)
    full = np.stack([bank.templates(count) for bank in model.banks])
    assert np.linalg.norm(told - full[:, :, :given], axis=-1).max() < 1.5 * TEMPLATE_ERROR
    if mirrored:
        last = full[:, :, ::-1][:, :, :given]
        assert np.linalg.norm(backwards - last, axis=-1).max() < 1.5 * TEMPLATE_ERROR


def window_problem(seed, shape, count, step=0.25):
    """Return smooth random curves as a window term and as the volume it was cut from."""
    rng = np.random.default_rng(seed)
    cost = np.cumsum(rng.standard_normal((count, *shape)), axis=0).astype(np.float32) * 0.1
    cost -= cost.max(axis=0)
    label = rng.uniform(0, count - 1, shape).astype(np.float32)
    term = WindowTerm(
        np.empty((*shape, 16), np.uint16),
        np.empty(shape, np.float32),
        np.empty(shape, np.int16),
        np.empty(shape[0], np.float64),
        step,
    )
    engine.kernels.cut_windows(
        pack(cost), count, label, term.samples, term.scale, term.base, term.offsets, 2
    )
    return term, VolumeTerm(cost, step), label * np.float32(step)


@given(seeds, shapes, labels)
def test_windows_are_parts_of_the_volume(seed, shape, count):
    window, volume, d = window_problem(seed, shape, count)
    np.testing.assert_array_equal(window.clip(d), d)
    low, high = window.clip(np.full_like(d, -1.0)), window.clip(np.full_like(d, 1e3))
    # Six labels to either side, or to the end of the range.
    assert ((d - low >= 5.99 * 0.25) | (low == 0.0)).all()
    assert ((high - d >= 5.99 * 0.25) | (high == np.float32((count - 1) * 0.25))).all()
    moved = depth(seed, shape) * 0.15 + d
    moved = window.clip(moved)
    assert window.value(moved) == pytest.approx(volume.value(moved), rel=1e-4, abs=1e-3 * d.size)
    np.testing.assert_allclose(window.gradient(moved), volume.gradient(moved), atol=2e-3)
    # The second derivative of the cubics jumps at the samples.
    inside = np.abs(moved / 0.25 - np.rint(moved / 0.25)) > 1e-3
    off = np.abs(window.bend(moved) - volume.bend(moved))
    assert (off[inside] < 2e-2).all()


@given(seeds, shapes, labels, threads)
def test_parabolas(seed, shape, count, thread_count):
    window, _, d = window_problem(seed, shape, count)
    with engine.use_threads(thread_count):
        fast = tgv.parabolas(window, d, 1.5)
    with engine.switched_off():
        slow = tgv.parabolas(window, d, 1.5)
    np.testing.assert_allclose(fast.h, slow.h, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(fast.m, slow.m, atol=2e-3)


@given(seeds, shapes, st.integers(0, 11), threads)
def test_total_generalised_variation(seed, shape, count, thread_count):
    rng = np.random.default_rng(seed)

    def planes(*number):
        return rng.standard_normal((*number, *shape)).astype(np.float32)

    parts = tgv.Parabolas(planes(), np.abs(planes()))
    held, bent = tgv.prices(np.abs(planes()), rng.uniform(0, 1, (2, *shape)).astype(np.float32))
    state = tgv.State(planes(), *(planes(k) for k in (2, 2, 3)))
    state.v[0, :, -1] = state.v[1, -1] = 0.0
    state = replace(state, p=np.clip(state.p, -held, held), q=np.clip(state.q, -bent, bent))
    with engine.use_threads(thread_count):
        fast = tgv.iterate(parts, held, bent, state, 0.7, count)
    with engine.switched_off():
        slow = tgv.iterate(parts, held, bent, state, 0.7, count)
    for name in ("d", "v", "p", "q"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), atol=2e-5)


@pytest.fixture(scope="session")
def scene():
    return simulate("steps", shape=(90, 131), seed=3, n=9)


def test_neither_threads_nor_bands_change_the_result(scene):
    stack, params = FocusStack.from_array(scene.frames), Params.from_keywords("robust")
    found = []
    for count, room in ((1, None), (2, None), (3, 0)):
        with engine.use_threads(count):
            found.append(estimate(stack, params, room=room))
    for other in found[1:]:
        for name in ("index", "margin", "sigma", "known"):
            np.testing.assert_array_equal(getattr(other, name), getattr(found[0], name))


def test_a_memory_limit_means_bands_before_it_means_another_method(monkeypatch):
    monkeypatch.setattr(plan, "_look", lambda *_: 0)  # it would be larger than this image
    frames = simulate("slants", shape=(400, 40), seed=1, n=9, colour=False).frames
    stack = FocusStack.from_array(frames)
    least = plan.needed_bytes(stack, Params.from_keywords("robust"))
    room = plan.room_for_volumes(stack, Params("robust"), least)
    assert band_count(stack.shape, len(stack), 41, room) > 1
    auto = Params()

    def settled(most: int) -> Params:
        return plan.plan(stack, auto, Resources(max_memory=f"{most}B")).params

    assert settled(least) == Params("robust")
    # Without the edge stage it takes less; only below that is it another method.
    plain = Params.from_keywords("robust", edges="off")
    assert settled(least - 1) == plain
    assert settled(plan.needed_bytes(stack, plain) - 1).method == "paper"
    within, whole = (run(stack, auto, resources=Resources(None, f"{b}B")) for b in (least, 10**9))
    np.testing.assert_array_equal(within.index, whole.index)


@pytest.fixture(scope="session")  # the instruction sets take turns with the modules
def slow(scene):
    """What the array code finds, which is the same for every instruction set."""
    with engine.switched_off():
        return estimate(FocusStack.from_array(scene.frames), Params.from_keywords("robust"))


def test_engine_and_array_code_find_the_same(scene, slow):
    fast = estimate(FocusStack.from_array(scene.frames), Params.from_keywords("robust"))
    close = np.abs(fast.index - slow.index) < 0.01
    # Of the kernels d can move by six labels at least, of the array code by any number.
    assert close.mean() > 0.94
    # Both look at the label nearest to a depth, which may lie half-way between two.
    assert np.mean(np.abs(fast.margin - slow.margin)[close] > 0.02) < 0.005
    assert np.mean(np.abs(fast.sigma - slow.sigma)[close] > 0.005) < 0.005
    assert np.mean(fast.known == slow.known) > 0.999


def test_bad_arguments_are_refused_by_the_kernels_themselves():
    kernels = engine.kernels
    volume, image = np.zeros((4, 5, 32), np.float32), np.zeros((4, 5), np.float32)
    planes, odd = np.zeros((6, 4, 5), np.uint16), np.zeros((4, 5, 20), np.float32)
    bank, noise = np.zeros((2, 1, 3, 32), np.float32), np.ones(2, np.float32)
    ends, total = np.zeros(32, np.float32), np.zeros_like(volume)
    edge = np.zeros((3, 5, 32), np.float32)
    window = np.zeros((4, 5, 16), np.uint16)
    base, rows = np.zeros((4, 5), np.int16), np.zeros(4)
    frame, whole = np.zeros((4, 5, 3), np.uint8), np.zeros((4, 5), np.uint16)
    taps, p = np.ones(1, np.float32), np.zeros((2, 4, 5), np.float32)
    triple = np.zeros((3, 4, 5), np.float32)
    for call in (
        lambda: kernels.two_scales(frame, 1.0, taps[:0], taps, *[whole] * 2, *[image] * 3, 1),
        lambda: kernels.two_scales(frame[:3], 1.0, taps, taps, *[whole] * 2, *[image] * 3, 1),
        lambda: kernels.best_match(volume, 0, image, image, np.zeros((4, 5), np.int32), 1),
        lambda: kernels.explained(np.zeros((1, 2, 4), np.float32), image, image, 1),
        lambda: kernels.cost(planes, NOTHING, bank, 0, noise, ends, 1.0, 40, image, 0, volume, 1),
        lambda: kernels.cost(planes, NOTHING, bank, 0, noise, ends, 1.0, 20, image, 1, volume, 1),
        lambda: kernels.cost(
            planes, NOTHING, bank, 0, 0 * noise, ends, 1.0, 20, image, 0, volume, 1
        ),
        lambda: kernels.cost(
            planes[:5], NOTHING, bank, 0, noise, ends, 1.0, 20, image, 0, volume, 1
        ),
        lambda: kernels.cost(planes, edge, bank, 0, noise, ends, 1.0, 20, image, 0, volume, 1),
        lambda: kernels.cost(planes, NOTHING, bank, 1, noise, ends, 1.0, 20, image, 0, volume, 1),
        lambda: kernels.cost(planes, NOTHING, bank, 2, noise, ends, 1.0, 20, image, 0, volume, 1),
        lambda: kernels.cost(planes, NOTHING, bank, 4, noise, ends, 1.0, 40, image, 0, volume, 1),
        lambda: kernels.semi_global(odd, 0.1, image, 0, False, NOTHING, NOTHING, NOTHING, 1),
        lambda: kernels.semi_global(volume, 0.1, image, 1, False, NOTHING, total, NOTHING, 1),
        lambda: kernels.semi_global(volume, 0.1, image, 0, False, edge, total, NOTHING, 1),
        lambda: kernels.semi_global(volume, 0.1, image, 0, True, edge, total, NOTHING, 1),
        lambda: kernels.semi_global(volume, 0.1, image, 0, False, NOTHING, volume, NOTHING, 1),
        lambda: kernels.semi_global(volume, 0.1, image, 0, False, NOTHING, total, edge[:2], 1),
        lambda: kernels.lowest(volume, 40, image, 1),
        lambda: kernels.judge(volume, total, 20, image, 1.0, 10, *[image.copy()] * 3, 1),
        lambda: kernels.cut_windows(volume, 13, image, window, image, base, rows, 1),
        lambda: kernels.cut_windows(volume, 20, image, window, image, base, rows[:3], 1),
        lambda: kernels.parabolas(
            window, image, base, rows, 0.2, image, 0.0, 1.0, image.copy(), image.copy(), 1
        ),
        lambda: kernels.tgv_iterate(
            image, image, p, triple, image.copy(), p.copy(), p.copy(), triple.copy(), 0.0, 1, 1
        ),
        lambda: kernels.tgv_iterate(
            image, image, p, p, image.copy(), p.copy(), p.copy(), triple.copy(), 0.1, 1, 1
        ),
    ):
        with pytest.raises(ValueError, match=r"expected|received"):
            call()
    with pytest.raises(ParameterError, match="frames, pixels"):
        engine.explained(volume, image)
    with pytest.raises(ParameterError, match="received 13 labels"):
        some_search(1, (4, 5), 4, 13)
