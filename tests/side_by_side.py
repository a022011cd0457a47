"""The environment of tests that run side by side, and of all they start: import it before NumPy.

All cores are busy. Threads of BLAS would wait for one another, and spin while they do: what array
code computes then takes seven times as much processor time. And some four hundred processes would
compile the same modules, where the environment forbids Python to keep what it has compiled.
"""

import os

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
