"""
The compiled kernels; arrays must be contiguous, and outputs are written in place.
"""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


BATCH: int = 8

COMPACT_LOWEST: int = 729808896

LABEL_PADDING: int = 16

MOST_THREADS: int = 1024

NO_LABEL: float = 1.0000000150474662e+30

WIDEST_WINDOW: int = 1999

WINDOW: int = 16

def compiled_instruction_sets() -> list[str]:
    """
    Names of all sets that the kernels were compiled for, from narrow to wide.
    """

def instruction_sets() -> list[str]:
    """Names of those that this machine has."""

def instruction_set() -> str:
    """Name of the one in use; at first the widest."""

def lanes() -> int:
    """Floats that a register of it holds."""

def use_instruction_set(name: str) -> None:
    """Change it for the whole process; not while a kernel runs."""

@overload
def contrast(frame: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def contrast(frame: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def contrast(frame: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def accumulate(slots: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, window: int, coefficients: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], peak: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], best: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], index: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def accumulate(slots: Annotated[NDArray[numpy.int32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, window: int, coefficients: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], peak: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], best: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], index: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def accumulate(slots: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, window: int, coefficients: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], peak: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], best: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], index: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def two_scales(frame: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), device='cpu', writable=False)], scale: float, blur: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], support: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], fine: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], coarse: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], gradient: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], smallest: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], largest: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def two_scales(frame: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), device='cpu', writable=False)], scale: float, blur: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], support: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], fine: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], coarse: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], gradient: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], smallest: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], largest: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def two_scales(frame: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), device='cpu', writable=False)], scale: float, blur: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], support: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], fine: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], coarse: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], gradient: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], smallest: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], largest: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

def box_mean(image: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], window: int, threads: int) -> None: ...

def halve(fine: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], coarse: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], threads: int) -> None: ...

def solve_columns(spectrum: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], e_x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], lam: float, threads: int) -> None: ...

def admm_update(a: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], u: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], d: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], g: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], b: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], r: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], alpha: float, tau: float, lam: float, next_lam: float, growth: float, multipliers: bool, threads: int) -> tuple[float, float, float, float]: ...

def primal_dual(a: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], d: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], p: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], alpha: float, sigma: float, iterations: int, threads: int) -> None: ...

def energy_terms(a: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], d: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> tuple[float, float]: ...

def slope(a: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], d: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

def margin(a: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], basis: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rival_distance: float, index: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

def best_match(bank: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], best: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], number: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

def explained(bank: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

def cost(contrast: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], basis: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], bank: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu', writable=False)], noise: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], unit: float, labels: int, lost: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_row: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], threads: int) -> None: ...

def semi_global(cost: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], p1: float, jump: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_row: int, upward: bool, entering: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], total: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], leaving: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], threads: int) -> None: ...

def lowest(volume: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], labels: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

def judge(total: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], labels: int, label: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], distance: float, reach: int, lead: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], bend: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], value: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

def cut_windows(cost: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], labels: int, label: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], samples: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), order='C', device='cpu')], scale: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], base: Annotated[NDArray[numpy.int16], dict(shape=(None, None), order='C', device='cpu')], offsets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

def huber_primal_dual(samples: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), order='C', device='cpu')], scale: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], base: Annotated[NDArray[numpy.int16], dict(shape=(None, None), order='C', device='cpu')], offsets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], step: float, alpha: float, epsilon: float, sigma: float, d: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], p: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], iterations: int, threads: int) -> tuple[float, float]: ...

def reduce(fine: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], coarse: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], threads: int) -> None: ...

def add_expanded(coarse: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], fine: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], sign: float, threads: int) -> None: ...

def fusion_level(coefficients: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], number: int, doubt: float, low: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], blended: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], sharpest: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], best: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], least: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], chosen: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def warp(frame: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu')], matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], gains: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

@overload
def warp(frame: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), order='C', device='cpu')], matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], gains: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

@overload
def warp(frame: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], gains: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

@overload
def shrink(frame: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], factor: int, scale: float, threads: int) -> None: ...

@overload
def shrink(frame: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], factor: int, scale: float, threads: int) -> None: ...

@overload
def shrink(frame: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], factor: int, scale: float, threads: int) -> None: ...

def cell_products(F: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], M: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], side: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order='C', device='cpu')], threads: int) -> None: ...

class EdgeConstants:
    def __init__(self, *, no_blur: float, reach: float, opaque: float, continued: float, wider: float, faint: float, covered: float) -> None: ...

def edge_convolve(planes: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], taps: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')]) -> None: ...

def edge_judge(frames: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], near: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], far: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], sigma: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], constants: EdgeConstants, tau2: float, sharp: float, change: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], error: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], colour: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')]) -> None: ...

def edge_plain_error(frames: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], near: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], far: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], sigma: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], constants: EdgeConstants, tau2: float, error: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def reblur(measured: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], pictures: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], number: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], precision: float, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], threads: int) -> None: ...

def vote(depth: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], trust: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], picture: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], asked: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], closeness: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: int, kin: int, per_frame: float, precision: float, alike: float, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

def confine(cost: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], labels: int, low: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], trust: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], per_width: float, pull: float, scale: float, threads: int) -> None: ...
