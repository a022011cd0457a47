"""The compiled module; arrays must be contiguous, and outputs are written in place."""

from typing import Any

from numpy.typing import NDArray

Floats = NDArray[Any]

def contrast(frame: NDArray[Any], out: NDArray[Any], threads: int) -> None: ...
def accumulate(
    slots: NDArray[Any],
    weights: Floats,
    numbers: Floats,
    scale: float,
    window: int,
    coefficients: Floats,
    peak: Floats,
    best: Floats,
    index: Floats,
    threads: int,
) -> None: ...
def box_mean(image: Floats, out: Floats, window: int, threads: int) -> None: ...
def halve(fine: Floats, coarse: Floats, threads: int) -> None: ...
def solve_columns(spectrum: Floats, e_x: Floats, lam: float, threads: int) -> None: ...
def admm_update(
    a: Floats,
    u: Floats,
    d: Floats,
    g: Floats,
    b: Floats,
    r: Floats,
    alpha: float,
    tau: float,
    lam: float,
    next_lam: float,
    growth: float,
    multipliers: bool,
    threads: int,
) -> tuple[float, float, float, float]: ...
def primal_dual(
    a: Floats, d: Floats, p: Floats, alpha: float, sigma: float, iterations: int, threads: int
) -> None: ...
def energy_terms(a: Floats, d: Floats, threads: int) -> tuple[float, float]: ...
def slope(a: Floats, d: Floats, out: Floats, threads: int) -> None: ...
def margin(
    a: Floats, basis: Floats, rival_distance: float, index: Floats, out: Floats, threads: int
) -> None: ...
def edge_judge(
    frames: Floats,
    label: NDArray[Any],
    near: NDArray[Any],
    far: NDArray[Any],
    sigma: Floats,
    tau2: float,
    sharp: float,
    change: Floats,
    error: Floats,
    colour: Floats,
) -> None: ...
def edge_plain_error(
    frames: Floats,
    label: NDArray[Any],
    near: NDArray[Any],
    far: NDArray[Any],
    sigma: Floats,
    tau2: float,
    error: Floats,
) -> None: ...
