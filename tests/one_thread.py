"""BLAS on one thread, here and in all that tests start: import it before NumPy.

Tests run side by side, so that all cores are busy. Threads of BLAS would wait for one another, and
spin while they do: what array code computes then takes seven times as much processor time.
"""

import os

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
