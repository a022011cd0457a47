"""Mutated files of every format: nothing but our own errors. `make nightly` tries 10 000."""

from fuzzing import MEMORY, fuzz


def test_three_hundred_mutated_files():
    report = fuzz(300, seed=8)
    assert report.findings == {}
    assert report.cases == 300
    assert report.peak < MEMORY
    kinds = {kind.removesuffix(" by command") for kind, _ in report.counts}
    assert {"PNG", "JPEG", "BMP", "TIFF", "TIFF stack", "NPY", "NPZ"} <= kinds
