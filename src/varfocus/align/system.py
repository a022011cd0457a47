r"""The maps of all frames from what all cells say, by one linear system.

In cell c, frame k and the frame s that the template was taken from there have displacements that
differ by what `varfocus.align.template.compared` sees, u = −H⁻¹ g with H and g curvature and slope
of the cell. Not all of it is motion. What is blurred by σ pixels relative to the template may seem
displaced in proportion to σ: uneven blur, outlines, an aperture cut off by the rim of the lens. How
much so is unknown in each cell c and on each side e of its focus, a vector v_ce:

.. math:: u_{kc} = B_c (δ_k - δ_{s(c)}) + σ_{kc} v_{ce} + \text{noise}, \qquad
          v_{ce} \sim N(0, τ^2), \qquad \text{noise} \sim N(0, φ_k H_{kc}^{-1}),
          \qquad δ_{\text{ref}} = 0,

with B as in `varfocus.align.models`. So what two frames show sharp says most about how they lie to
each other, and what both show blurred by as much says more than what only one does. φ and τ are the
most likely ones, found along with δ; v is eliminated cell by cell. Cells that contradict the others
count less. The covariance of δ comes from how much cells contradict each other (a sandwich, cells
being what is independent, over all frames together since they share the template).

A surface whose blur changes from place to place is drawn otherwise by a lens than by a simulator
that blurs every pixel by itself, by λ D of `varfocus.align.template`. λ is one unknown more for the
whole stack, and adds λ H⁻¹ Σ ∇P D to what a cell shows. Cells of different texture tell it well;
where they do not, it is a lens's to within a prior, λ ~ N(1, 1). How the maps change with λ is what
defocus may have added to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from varfocus.align.links import Links

Array = NDArray[np.float64]

PRIOR = 0.25
"""Inverse variance in 1/px² of how far maps may be off at first: frames of which nothing can be
seen stay where they are."""

LEAST_ERROR = 0.02
"""Standard error in pixels that resampling leaves."""

PRETENDED = 0.25
"""Standard error of λ that is not seen in the cells, as measured on simulated stacks: apertures are
no Gaussians."""

LENS, LENS_ERROR, LENSES = 1.0, 1.0, (0.0, 1.0)
"""λ as it is thought to be, to within which standard error, and between which bounds: 0 if every
pixel is blurred by itself, 1 for a lens."""

TAUS = (1e-4, 1.0)
PHIS = (1e-6, 1e6)
SCALED = 6
"""Bounds of τ and φ, and steps to the most likely φ."""

CAUCHY = 2.385
REWEIGHTED = 8
"""Standard errors beyond which a cell begins to count less, and how often that is asked anew."""


def solved(links: Links, n: int, reference: int, lens: float) -> tuple[Array, float, Array, Array]:
    """Return what changes of the maps explain the cells best.

    Parameters
    ----------
    links : Links
        What all cells say.
    n : int
        Number of frames.
    reference : int
        The frame that stays where it is.
    lens : float
        λ that the frames were drawn with.

    Returns
    -------
    delta : ndarray of shape (n, p)
        δ of every frame, times half the diagonal, in pixels.
    lens : float
        λ.
    covariance : ndarray of shape (n, p, n, p)
        Of δ, in px².
    pretended : ndarray of shape (n, p)
        Change of δ per λ.
    """
    p = links.B.shape[2]
    delta, excess, pretended = np.zeros((n, p)), 0.0, np.zeros(n * p)
    inverse: Array = np.eye(n * p + 1)
    trust, phi = np.ones(len(links.frame)), np.ones(n)
    own, spread = links, Spread.of(links)
    system = System.of(links, 0.0, n, reference)
    for _ in range(REWEIGHTED):
        squares = spread.squares(_misfit(links, delta, excess))
        phi, tau = spread.likely(squares, trust, phi)
        trust = spread.trust(squares, phi, tau)
        weight = trust / phi[links.frame]
        own = replace(
            links,
            H=links.H * weight[:, None, None],
            g=links.g * weight[:, None],
            tilt=links.tilt * weight[:, None],
        )
        system = System.of(own, tau, n, reference)
        inverse = np.asarray(np.linalg.inv(system.matrix), np.float64)
        right = system.right(-own.g)
        right[-1] += (LENS - lens) / LENS_ERROR**2
        answer = inverse @ right
        pretended = -np.linalg.solve(system.matrix[:-1, :-1], system.matrix[:-1, -1])
        excess = float(np.clip(answer[-1], LENSES[0] - lens, LENSES[1] - lens))
        delta = (answer[:-1] + (excess - answer[-1]) * pretended).reshape(n, p)
    # What remains of each cell once its own displacement is taken off.
    v = system.displaced(delta, excess)
    rest = _misfit(own, delta, excess) + np.einsum("qij,qj->qi", own.H, own.sigma[:, None] * v)
    pull = np.einsum("qia,qi->qa", links.B, rest)
    score = np.zeros((int(links.cell.max(initial=0)) + 1, n, p))
    np.add.at(score, (links.cell, links.frame), pull)
    np.add.at(score, (links.cell, links.source), -pull)
    flat = score.reshape(len(score), n * p)
    flat[:, reference * p : (reference + 1) * p] = 0.0
    of_lens = np.zeros((len(score), 1))
    np.add.at(of_lens[:, 0], links.cell, np.einsum("qi,qi->q", system.w, rest))
    flat = np.concatenate([flat, of_lens], axis=1)
    prior = np.full(n * p + 1, PRIOR / p)
    prior[reference * p : (reference + 1) * p] = 0.0
    prior[-1] = 1.0 / LENS_ERROR**2
    covariance = inverse @ (flat.T @ flat + np.diag(prior)) @ inverse
    kept = np.arange(n) != reference
    resampled = np.diag(np.repeat(LEAST_ERROR**2 / p * kept, p))
    doubt = PRETENDED * pretended
    covariance = covariance[:-1, :-1] + resampled + np.outer(doubt, doubt)
    return delta, lens + excess, covariance.reshape(n, p, n, p), pretended.reshape(n, p)


def _misfit(links: Links, delta: Array, excess: float) -> Array:
    """Return g + H B (δ_k − δ_s) − λ d: minus H times what motion and λ do not explain."""
    apart = np.einsum("qia,qa->qi", links.B, delta[links.frame] - delta[links.source])
    moved = links.g + np.einsum("qij,qj->qi", links.H, apart)
    return np.asarray(moved - excess * links.tilt, np.float64)


@dataclass(frozen=True)
class System:
    """The linear system for δ and λ, with the displacements v of blurred cells eliminated.

    Attributes
    ----------
    links : Links
        What cells say, H, g and d divided by φ.
    matrix : ndarray of shape (n·p + 1, n·p + 1)
        Of the system, with ones for the reference; λ is last.
    G : ndarray of shape (e, 2, n·p + 1)
        Σ_k σ H B over the frames of a cell and side: v as a pull on δ.
    K : ndarray of shape (e, 2, 2)
        Inverse of Σ_k σ² H + 1/τ².
    w : ndarray of shape (q, 2)
        Displacement per λ, −H⁻¹ d.
    fixed : slice
        Parameters of the reference.
    """

    links: Links
    matrix: Array
    G: Array
    K: Array
    w: Array
    fixed: slice

    @classmethod
    def of(cls, links: Links, tau: float, n: int, reference: int) -> System:
        """Set up the system."""
        p = links.B.shape[2]
        HB = links.H @ links.B
        ridge = (1e-3 * np.einsum("qii->q", links.H) + 1e-12)[:, None, None] * np.eye(2)
        w = -np.linalg.solve(links.H + ridge, links.tilt[..., None])[..., 0]
        Hw = np.einsum("qij,qj->qi", links.H, w)
        blocks = np.einsum("qia,qib->qab", links.B, HB)
        M = np.zeros((n, n, p, p))
        for row, column, sign in (
            (links.frame, links.frame, 1.0),
            (links.source, links.source, 1.0),
            (links.frame, links.source, -1.0),
            (links.source, links.frame, -1.0),
        ):
            np.add.at(M, (row, column), sign * blocks)
        group = links.group
        count = int(group.max(initial=0)) + 1
        G = np.zeros((count, n, 2, p))
        pulls = links.sigma[:, None, None] * HB
        np.add.at(G, (group, links.frame), pulls)
        np.add.at(G, (group, links.source), -pulls)
        last = np.zeros((count, 2, 1))
        np.add.at(last[..., 0], group, links.sigma[:, None] * Hw)
        inner = np.zeros((count, 2, 2))
        np.add.at(inner, group, (links.sigma**2)[:, None, None] * links.H)
        # As τ² (1 + τ² Σ σ² H)⁻¹: τ may be zero.
        K: Array = np.asarray(tau**2 * np.linalg.inv(np.eye(2) + tau**2 * inner), np.float64)
        flat = np.concatenate([G.swapaxes(1, 2).reshape(count, 2, n * p), last], axis=2)
        cross = np.zeros((n, p))
        each = np.einsum("qia,qi->qa", links.B, Hw)
        np.add.at(cross, links.frame, each)
        np.add.at(cross, links.source, -each)
        whole = np.zeros((n * p + 1, n * p + 1))
        whole[:-1, :-1] = M.swapaxes(1, 2).reshape(n * p, n * p) + PRIOR / p * np.eye(n * p)
        whole[-1, :-1] = whole[:-1, -1] = cross.ravel()
        whole[-1, -1] = float((w * Hw).sum()) + 1.0 / LENS_ERROR**2
        whole -= flat.reshape(-1, n * p + 1).T @ (K @ flat).reshape(-1, n * p + 1)
        fixed = slice(reference * p, (reference + 1) * p)
        whole[fixed] = 0.0
        whole[:, fixed] = 0.0
        whole[fixed, fixed] = np.eye(p)
        return cls(links, whole, flat, K, w, fixed)

    def right(self, pull: Array) -> Array:
        """Return the right side for pulls H u of all links, ``(q, 2)``; zero for the reference."""
        links = self.links
        each = np.einsum("qia,qi->qa", links.B, pull)
        right = np.zeros((self.G.shape[2] // each.shape[1], each.shape[1]))
        np.add.at(right, links.frame, each)
        np.add.at(right, links.source, -each)
        flat = np.append(right.ravel(), (self.w * pull).sum())
        flat -= np.einsum("eia,eij,ej->a", self.G, self.K, self._gathered(pull))
        flat[self.fixed] = 0.0
        return np.asarray(flat, np.float64)

    def displaced(self, delta: Array, excess: float) -> Array:
        """Return the most likely v of every link, given δ and λ, shape ``(q, 2)``."""
        v = np.einsum("eij,ej->ei", self.K, self._gathered(-_misfit(self.links, delta, excess)))
        return np.asarray(v[self.links.group], np.float64)

    def _gathered(self, pull: Array) -> Array:
        sums = np.zeros((len(self.G), 2))
        np.add.at(sums, self.links.group, self.links.sigma[:, None] * pull)
        return sums


@dataclass(frozen=True)
class Spread:
    """How far links may be off, along the axes of their curvature.

    Attributes
    ----------
    frame : ndarray of shape (q,), int
        Frame.
    axes : ndarray of shape (q, 2, 2)
        Eigenvectors of H, in columns.
    noise : ndarray of shape (q, 2)
        1/h of its eigenvalues h, the variance in px² for φ = 1.
    blur : ndarray of shape (q, 1)
        σ² in px².
    """

    frame: NDArray[np.intp]
    axes: Array
    noise: Array
    blur: Array

    @classmethod
    def of(cls, links: Links) -> Spread:
        """Return the spread of links."""
        h, axes = np.linalg.eigh(links.H)
        h = h + 1e-3 * h.sum(axis=1, keepdims=True) + 1e-12
        return cls(links.frame, axes, 1.0 / h, links.sigma[:, None] ** 2)

    def squares(self, misfit: Array) -> Array:
        """Return u² along the axes of what motion does not explain, ``(q, 2)``."""
        along = np.einsum("qji,qj->qi", self.axes, misfit) * self.noise
        return np.asarray(along**2, np.float64)

    def variances(self, phi: Array, tau: float) -> Array:
        """Return φ/h + τ²σ² in px², ``(q, 2)``."""
        return phi[self.frame, None] * self.noise + tau**2 * self.blur

    def likely(self, squares: Array, trust: Array, phi: Array) -> tuple[Array, float]:
        """Return the most likely φ of every frame, begun at `phi`, and the most likely τ."""
        if not len(squares):
            return phi, 0.0
        sums = partial(np.bincount, self.frame, minlength=len(phi))
        told = sums() > 0

        def at(tau: float) -> tuple[Array, float]:
            """Return φ for a τ, and minus twice the logarithm of the likelihood."""
            mine = phi.copy()
            for _ in range(SCALED):
                v = self.variances(mine, tau)
                found = sums(trust * (squares * self.noise / v**2).sum(axis=1))
                expected = sums(trust * (self.noise / v).sum(axis=1))
                mine[told] *= np.clip(found[told] / np.maximum(expected[told], 1e-30), 0.1, 10.0)
                mine = np.clip(mine, *PHIS)
            v = self.variances(mine, tau)
            return mine, float((trust * (np.log(v) + squares / v).sum(axis=1)).sum())

        from scipy.optimize import minimize_scalar  # a fifth of the time in which varfocus starts

        search = minimize_scalar(
            lambda log: at(float(np.exp(log)))[1],
            bounds=np.log(TAUS),
            method="bounded",
            options={"xatol": 0.05, "maxiter": 20},
        )
        tau = float(np.exp(search.x))
        return at(tau)[0], tau

    def trust(self, squares: Array, phi: Array, tau: float) -> Array:
        """Return weights in (0, 1] that fall for cells that contradict the others."""
        chi = (squares / self.variances(phi, tau)).sum(axis=1)
        return np.asarray(1.0 / (1.0 + chi / CAUCHY**2), np.float64)
