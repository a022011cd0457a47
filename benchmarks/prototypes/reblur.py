r"""Depth that explains all frames: re-blur likelihood, gated templates, trusted votes at borders.

A prototype, not yet part of the robust method: docs/reblur.md tells what it gains and what it
loses. Array code defines every step; `varfocus` gives the contrast
templates, the semi-global search and the Huber refinement. The pipeline:

1. template cost T(p, l) and its semi-global answer d (`varfocus.robust`, as before);
2. blur learnt from the stack: aperture h and radius c per unit of focus coordinate (`learn_blur`);
3. three times: all-in-focus picture A of d (`all_in_focus`), re-blur cost G (`reblur_cost`),
   joined cost (`joined_cost`; at first its re-blur part alone), semi-global search, refinement;
4. three times: pixels beside jumps take the depth of the trusted pixels that look like them
   (`vote`);
5. the template cost, gated by G, gives the last digits (`robust.refine` from there), and the
   present edge stage follows where its own trial opens it.

Constants: docs/reblur.md says how each was chosen.

    python benchmarks/prototypes/reblur.py FOLDER

prints the RMSE in frames of the robust method and of this one for a folder that `varfocus evaluate`
reads (frames/ and truth_index.tif).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import tifffile
from numpy.typing import NDArray
from scipy import ndimage

import varfocus
from varfocus.contrast import SCALES, TwoScales, jump_weight
from varfocus.curve.coordinate import label_frames
from varfocus.curve.likelihood import Model, cost_volume, learn
from varfocus.edges.plain_areas import settle
from varfocus.energy import VolumeTerm
from varfocus.energy.operators import K, magnitude
from varfocus.methods import robust
from varfocus.minimise.semi_global import lowest, semi_global
from varfocus.params import Params
from varfocus.stack import FocusStack

Float = NDArray[np.float32]

APERTURES = ("gauss", "disc", "square", "bubble")
"""Shapes to choose from; a hexagon is told as a disc."""

RADII = np.concatenate([[0.0, 0.35], np.geomspace(0.6, 24.0, 22)])
"""Blur radii in pixels at which A is blurred; linear between."""

RANGES = np.geomspace(1.5, 40.0, 40)
"""Candidates of c, the blur radius in pixels over the whole range of focus."""

SAMPLES = 2500
"""Pixels on which the blur is learnt."""

SHARP = 0.75
"""Frames whose blur at d is below so many pixels are averaged into A."""

SMOOTH = 0.7
"""σ in pixels over which G is averaged."""

GATE = 1.0
"""T of the gate exp(−(G − G₀)₊/(T·G₀))."""

SHARE = 0.5
"""Weight of the re-blur term in the joined cost."""

ROUNDS, VOTES = 3, 3

VOTE_RADIUS, VOTE_SIGMA, VOTE_COLOUR = 10, 6.0, 0.06
"""Window, σ of distance in pixels, σ of colour of the votes."""

JUMP, JUMP_REACH = 0.7, 6
"""Pixels ask their kin within so many pixels of a step above this many peak widths."""

ALIKE = 1.0
"""Depths within so many frames of a mode belong to it."""


@dataclass(frozen=True)
class Blur:
    """What a stack teaches about its lens.

    Attributes
    ----------
    aperture : str
        One of `APERTURES`.
    radius : float
        c: blur radius in pixels of one end of the range of focus when the other is sharp.
    noise : float
        Variance of the residual per channel, noise and model error together.
    """

    aperture: str
    radius: float
    noise: float


def aperture(kind: str, r: float, fine: int = 5) -> Float:
    """Return the point spread of radius r pixels, unit sum, by supersampling.

    gauss: σ = r/2; square: of the area of the disc; bubble: disc with profile ½ + (ρ/r)⁴.
    """
    if r < 0.25:
        return np.ones((1, 1), np.float32)
    n = int(np.ceil(r * (1.5 if kind == "gauss" else 1.0) + 0.5))
    m = (2 * n + 1) * fine
    g = (np.arange(m) - (m - 1) / 2) / fine
    x, y = np.meshgrid(g, g)
    rho = np.hypot(x, y)
    if kind == "gauss":
        k = np.exp(-0.5 * (rho / (r / 2)) ** 2)
    elif kind == "square":
        k = ((np.abs(x) <= r * np.sqrt(np.pi) / 2) & (np.abs(y) <= r * np.sqrt(np.pi) / 2)).astype(
            float
        )
    elif kind == "bubble":
        k = (rho <= r) * (0.5 + np.clip(rho / r, 0, 1) ** 4)
    else:
        k = (rho <= r).astype(float)
    k = k.reshape(2 * n + 1, fine, 2 * n + 1, fine).sum((1, 3))
    return (k / k.sum()).astype(np.float32)


def blurred(picture: Float, kind: str, r: float) -> Float:
    """Return h_r ∗ picture ``(H, W, C)``, border replicated."""
    if r < 0.25:
        return picture.copy()
    return cv2.filter2D(picture, -1, aperture(kind, r), borderType=cv2.BORDER_REPLICATE)


def unit_coordinate(model: Model, index: NDArray) -> NDArray[np.float64]:
    """Return the focus coordinate at fractional frames, scaled so that the stack spans [0, 1]."""
    x = model.coordinate.x
    return np.abs(model.coordinate.at(np.asarray(index, float)) - x[0]) / abs(x[-1] - x[0])


def all_in_focus(frames: Float, d: Float, model: Model, radius: float) -> Float:
    r"""Return A: the mean of the frames that are sharp at d.

    .. math:: A = \sum_k w_k I_k / \sum_k w_k, \quad w_k = \max(1 - |u_k - u_d| / h, 10^{-6}),
              \quad h = \max(0.75/c, Δu):

    linear between two frames where frames are far apart, a mean of several where they are close:
    less noise in A, and no frame predicted by itself alone.
    """
    u = unit_coordinate(model, np.arange(len(frames)))
    at = unit_coordinate(model, d).astype(np.float32)
    step = np.interp(d, np.arange(len(frames)), np.gradient(u)).astype(np.float32)
    half = np.maximum(np.float32(SHARP / radius), step)
    total = np.zeros(frames.shape[1:], np.float32)
    weights = np.zeros(d.shape, np.float32)
    for frame, place in zip(frames, u, strict=True):
        w = np.maximum(1.0 - np.abs(np.float32(place) - at) / half, np.float32(1e-6))
        total += w[..., None] * frame
        weights += w
    return total / weights[..., None]


def _between(r: NDArray, radii: NDArray) -> tuple[NDArray[np.intp], Float]:
    place = np.interp(r, radii, np.arange(radii.size))
    lower = np.minimum(place.astype(np.intp), radii.size - 2)
    return lower, (place - lower).astype(np.float32)


def learn_blur(
    frames: Float, d: Float, reliable: NDArray[np.bool_], model: Model, seed: int = 0
) -> Blur:
    r"""Return aperture and radius that re-blur the picture best.

    .. math:: (h, c) = \arg\min \operatorname{mean}_{p, k}
              \min\bigl(|I_k(p) - (h_{c|u_k - u_{d(p)}|} * A)(p)|_1,\; ½\bigr)

    over `SAMPLES` reliable pixels; c first on every fourth of 40 candidates, then around the best.
    """
    n = len(frames)
    A = _linear(frames, d)
    chosen = np.flatnonzero(reliable)
    if chosen.size > SAMPLES:
        chosen = np.random.default_rng(seed).choice(chosen, SAMPLES, replace=False)
    u = unit_coordinate(model, np.arange(n))
    distance = np.abs(u[:, None] - unit_coordinate(model, d).ravel()[chosen][None])
    measured = frames.reshape(n, -1, 3)[:, chosen]
    column = np.arange(chosen.size)[None]
    best = (np.inf, "", 0.0, 0.0)
    for kind in APERTURES:
        bank = np.stack([blurred(A, kind, r).reshape(-1, 3)[chosen] for r in RADII])

        def misfit(i: int, bank: Float = bank) -> tuple[float, float]:
            lower, share = _between(RANGES[i] * distance, RADII)
            share = share[..., None]
            off = measured - (bank[lower, column] * (1 - share) + bank[lower + 1, column] * share)
            value = float(np.minimum(np.abs(off).sum(-1), 0.5).mean())
            near = RANGES[i] * distance < 12.0
            return value, float(np.median(off[near] ** 2) / 0.455)

        coarse = {i: misfit(i) for i in range(0, RANGES.size, 4)}
        centre = min(coarse, key=lambda i: coarse[i])
        coarse |= {i: misfit(i) for i in range(max(centre - 3, 0), min(centre + 4, RANGES.size))}
        i = min(coarse, key=lambda i: coarse[i])
        best = min(best, (coarse[i][0], kind, float(RANGES[i]), coarse[i][1]))
    return Blur(best[1], best[2], max(best[3], 2e-6))


def _linear(frames: Float, d: Float) -> Float:
    k = np.clip(np.floor(d), 0, len(frames) - 2).astype(np.intp)
    f = (d - k)[..., None].astype(np.float32)
    y, x = np.indices(d.shape)
    return frames[k, y, x] * (1 - f) + frames[k + 1, y, x] * f


def reblur_cost(
    frames: Float, A: Float, d: Float, reliable: NDArray[np.bool_], model: Model, blur: Blur
) -> Float:
    r"""Return how badly each depth explains all frames, shape ``(L, H, W)``.

    .. math:: G(p, l) = g_σ * \sum_k \log\Bigl(1 +
              \frac{|I_k(p) - (h_{c|u_k-u_l|} * A)(p)|^2}{3v}\Bigr)

    a Student-t likelihood with 3 degrees of freedom, in thirds of a nat; v, the variance per
    channel of what noise and model leave at reliable pixels, is the median over the radii of
    that at each radius. A is blurred once per radius of `RADII`, and pairs (k, l) lie between two.
    """
    n, labels = len(frames), model.labels
    radii = RADII[: np.searchsorted(RADII, blur.radius) + 1]
    bank = np.stack([blurred(A, blur.aperture, r) for r in radii])
    u = unit_coordinate(model, np.arange(n))
    v = np.float32(_variance(frames, bank, radii, d, reliable, model, blur))
    lower, share = _between(
        blur.radius * np.abs(u[:, None] - unit_coordinate(model, label_frames(n, labels))[None]),
        radii,
    )
    G = np.empty((labels, *d.shape), np.float32)
    for label in range(labels):
        product = np.zeros(d.shape, np.float32)
        for k in range(n):
            i, s = lower[k, label], share[k, label]
            off = frames[k] - (bank[i] + s * (bank[i + 1] - bank[i]))
            product += np.log1p((off * off).sum(-1) / (3 * v))
        G[label] = cv2.GaussianBlur(product, (0, 0), SMOOTH)
    return G


def _variance(frames, bank, radii, d, reliable, model, blur) -> float:
    """Return v: median over radii of (median of |residual|² over reliable pixels)/2.366."""
    chosen = np.flatnonzero(reliable)
    chosen = chosen[:: max(chosen.size // 4000, 1)]
    u = unit_coordinate(model, np.arange(len(frames)))
    r = blur.radius * np.abs(u[:, None] - unit_coordinate(model, d).ravel()[chosen][None])
    lower, share = _between(r, radii)
    flat = bank.reshape(radii.size, -1, 3)[:, chosen]
    column = np.arange(chosen.size)[None]
    share3 = share[..., None]
    off = frames.reshape(len(frames), -1, 3)[:, chosen] - (
        flat[lower, column] * (1 - share3) + flat[lower + 1, column] * share3
    )
    squares = (off * off).sum(-1) / 2.366  # the median of χ² with 3 degrees of freedom
    nearest = np.rint(lower + share).astype(int)
    found = np.full(radii.size, np.nan)
    for i in range(radii.size):
        if (nearest == i).sum() > 200:
            found[i] = np.median(squares[nearest == i])
    known = np.flatnonzero(np.isfinite(found))
    found = np.interp(np.arange(radii.size), known, found[known])
    return float(np.median(np.maximum(ndimage.uniform_filter1d(found, 3, mode="nearest"), 2e-6)))


def well(G: Float) -> Float:
    """Return G − max_l G, divided so that wells are 1 deep on average."""
    W = G - G.max(axis=0)
    return W / -W.min(axis=0).mean()


def gate(G: Float, least: float = 0.0) -> Float:
    r"""Return V = exp(−(G − G₀)₊ / (T·G₀)), G₀ = median_p min_l G.

    A contrast peak counts at a depth only as far as that depth explains all frames. `least` is
    subtracted from G first.
    """
    G = G - np.float32(least)
    typical = float(np.median(G.min(axis=0)))
    return np.exp(-np.maximum(G - typical, 0.0) / np.float32(GATE * typical))


def joined_cost(T: Float, G: Float) -> Float:
    r"""Return C = ½·W·max_l V + ½·T·V, wells 1 deep on average.

    T is the template cost, W the wells of G, V the gate: templates say where exactly, re-blur
    says whether. Where no depth explains the frames (veils beside jumps) both fall silent, and
    neighbours decide.
    """
    V = gate(G, G.min())
    C = SHARE * well(G) * V.max(axis=0) + (1 - SHARE) * T * V
    return C / -C.min(axis=0).mean()


def at_label(volume: Float, d: Float, step: float) -> Float:
    """Return the volume at the label closest to a depth in frames."""
    label = np.clip(np.rint(d / step), 0, volume.shape[0] - 1).astype(np.intp)
    return np.take_along_axis(volume, label[None], axis=0)[0]


def vote(
    d: Float, trust: Float, picture: Float, asked: NDArray[np.bool_], step: float, labels: int
) -> Float:
    r"""Return d with the asked pixels at the depth most of their kin have.

    .. math:: w_{pq} = V_q \exp\Bigl(-\frac{|A_p - A_q|^2}{2·3σ_c^2} - \frac{|p-q|^2}{2σ_s^2}\Bigr),

    a histogram of d_q over labels, smoothed by a tent of ±1 frame; where its mode is more than a
    frame from d_p, the mean of the d_q around it, weighted by w/(1 + |p−q|²), replaces d_p. What
    no depth explains (V small) has no vote.
    """
    out = d.copy()
    height, width = d.shape
    reach = max(1, int(ALIKE / step))
    tent = 1.0 - np.abs(np.arange(-reach, reach + 1)) / (reach + 1)
    for y, x in zip(*np.nonzero(asked), strict=True):
        rows = slice(max(0, y - VOTE_RADIUS), min(height, y + VOTE_RADIUS + 1))
        columns = slice(max(0, x - VOTE_RADIUS), min(width, x + VOTE_RADIUS + 1))
        yy, xx = np.mgrid[rows, columns]
        far = (yy - y) ** 2 + (xx - x) ** 2
        colour = ((picture[rows, columns] - picture[y, x]) ** 2).sum(-1)
        alike = np.exp(-colour / (6 * VOTE_COLOUR**2) - far / (2 * VOTE_SIGMA**2))
        there = d[rows, columns]
        bins = np.clip((there / step + 0.5).astype(int), 0, labels - 1)
        histogram = np.bincount(bins.ravel(), (trust[rows, columns] * alike).ravel(), labels)
        mode = int(np.convolve(histogram, tent, "same").argmax()) * step
        if abs(mode - d[y, x]) <= ALIKE:
            continue
        kin = np.abs(there - mode) <= ALIKE
        weight = (trust[rows, columns] + 1e-4) * alike / (1 + far) * kin
        if weight.sum() > 0:
            out[y, x] = (weight * there).sum() / weight.sum()
    return out


def beside_jumps(d: Float, unit: float) -> NDArray[np.bool_]:
    """Return the pixels within 6 px of a step |Kd| above 0.7 half widths of a contrast peak.

    A step from pixel to pixel, not a range over a window: steep walls are no jumps.
    """
    return ndimage.maximum_filter(magnitude(K(d)) > JUMP * unit, 2 * JUMP_REACH + 1)


def search(cost: Float, model: Model, weight: Float) -> Float:
    """Return the refined semi-global depth in frames of a cost volume ``(L, H, W)``."""
    params = Params().robust
    slope, jump = robust.penalties(model, weight, params)
    d = lowest(semi_global(cost, slope, jump)) * np.float32(model.step)
    d = robust.refine(VolumeTerm(cost, model.step), model, d, weight, params).d
    settle(d, weight, params.cut * model.peak_width)
    return d


def reconstruct(stack: FocusStack) -> tuple[Float, dict[str, object]]:
    """Return depth in frames of an 8-bit colour stack, and what was found out about its lens."""
    params = Params().robust
    frames = np.stack([np.asarray(f, np.float32) * np.float32(stack.scale) for f in stack])
    front = TwoScales(len(frames), stack.shape, stack.scale, params)
    for k, frame in enumerate(stack):
        front.add(k, frame)
    model = learn(front.curves, stack.shape, SCALES, wanted=params.coordinate, focus=stack.focus)
    weight = jump_weight(front.gradient)
    T = cost_volume(front.contrast, model)
    lost = robust.overshadowed(front.strength)
    for cost, end in zip(T, robust.end_labels(model), strict=True):
        cost *= 1.0 - end * lost
    d = search(T, model, weight)
    strong = front.strength > np.percentile(front.strength, 60)
    reliable = strong & (at_label(T, d, model.step) < -0.8)
    blur = learn_blur(frames, d, reliable, model)
    for number in range(ROUNDS):
        reliable = strong & (at_label(T, d, model.step) < -0.8)
        G = reblur_cost(
            frames, all_in_focus(frames, d, model, blur.radius), d, reliable, model, blur
        )
        d = search(well(G) if number == 0 else joined_cost(T, G), model, weight)
    for _ in range(VOTES):
        reliable = strong & (at_label(T, d, model.step) < -0.8)
        A = all_in_focus(frames, d, model, blur.radius)
        trust = at_label(gate(reblur_cost(frames, A, d, reliable, model, blur)), d, model.step)
        d = vote(d, trust, A, beside_jumps(d, model.peak_width), model.step, model.labels)
    G = reblur_cost(frames, all_in_focus(frames, d, model, blur.radius), d, reliable, model, blur)
    d = robust.refine(VolumeTerm(T * gate(G), model.step), model, d, weight, params).d
    return d, {"aperture": blur.aperture, "blur_radius": blur.radius, "trust": trust}


def main() -> None:
    """Compare with the robust method on one stack."""
    folder = Path(sys.argv[1])
    truth = tifffile.imread(folder / "truth_index.tif")
    stack = varfocus.read_stack(folder / "frames")
    before = varfocus.reconstruct(stack, align="none").index
    after, notes = reconstruct(stack)
    print(f"aperture {notes['aperture']}, radius over the range {notes['blur_radius']:.1f} px")
    for name, index in (("robust", before), ("re-blur", after)):
        print(f"{name:8s} RMSE {varfocus.metrics.rmse(index, truth):.3f} frames")


if __name__ == "__main__":
    main()
