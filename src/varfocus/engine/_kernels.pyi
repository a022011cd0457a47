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
def reduce(fine: Floats, coarse: Floats, threads: int) -> None: ...
def add_expanded(coarse: Floats, fine: Floats, sign: float, threads: int) -> None: ...
def fusion_level(
    coefficients: Floats,
    weight: Floats,
    number: int,
    doubt: float,
    low: NDArray[Any],
    high: NDArray[Any],
    blended: Floats,
    sharpest: Floats,
    best: Floats,
    least: Floats,
    chosen: NDArray[Any],
    threads: int,
) -> None: ...
def two_scales(
    frame: NDArray[Any],
    scale: float,
    blur: Floats,
    support: Floats,
    fine: NDArray[Any],
    coarse: NDArray[Any],
    gradient: Floats,
    smallest: Floats,
    largest: Floats,
    threads: int,
) -> None: ...
def best_match(
    bank: Floats, v: Floats, best: Floats, number: NDArray[Any], threads: int
) -> None: ...
def explained(bank: Floats, v: Floats, out: Floats, threads: int) -> None: ...
def cost(
    contrast: NDArray[Any],
    basis: Floats,
    bank: Floats,
    noise: Floats,
    ends: Floats,
    unit: float,
    labels: int,
    lost: Floats,
    first_row: int,
    out: Floats,
    threads: int,
) -> None: ...
def semi_global(
    cost: Floats,
    p1: float,
    jump: Floats,
    first_row: int,
    upward: bool,
    entering: Floats,
    total: Floats,
    leaving: Floats,
    threads: int,
) -> None: ...
def lowest(volume: Floats, labels: int, out: Floats, threads: int) -> None: ...
def judge(
    total: Floats,
    cost: Floats,
    labels: int,
    label: Floats,
    distance: float,
    reach: int,
    lead: Floats,
    bend: Floats,
    value: Floats,
    threads: int,
) -> None: ...
def cut_windows(
    cost: Floats,
    labels: int,
    label: Floats,
    samples: NDArray[Any],
    scale: Floats,
    base: NDArray[Any],
    offsets: NDArray[Any],
    threads: int,
) -> None: ...
def huber_primal_dual(
    samples: NDArray[Any],
    scale: Floats,
    base: NDArray[Any],
    offsets: NDArray[Any],
    weight: Floats,
    step: float,
    alpha: float,
    epsilon: float,
    sigma: float,
    d: Floats,
    p: Floats,
    iterations: int,
    threads: int,
) -> tuple[float, float]: ...
def warp(
    frame: NDArray[Any],
    out: NDArray[Any],
    matrix: NDArray[Any],
    table: Floats,
    gains: Floats,
    threads: int,
) -> None: ...
def shrink(frame: NDArray[Any], out: Floats, factor: int, scale: float, threads: int) -> None: ...
def edge_convolve(planes: Floats, taps: Floats, out: Floats) -> None: ...
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
