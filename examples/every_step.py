"""A researcher's view: every step of the paper spelled out, each open to be replaced.

python examples/every_step.py
"""

import numpy as np

import varfocus
from varfocus import contrast, curve
from varfocus.contrast import PeakSearch
from varfocus.energy import ContrastTerm
from varfocus.minimise import linearised_admm
from varfocus.params import ContrastParams, SolverParams
from varfocus.studies.metrics import rmse

scene = varfocus.simulate("discs")
stack, n = scene.stack, len(scene.stack)

# 1. contrast of every pixel in every frame
C = np.stack([contrast.mlap(stack.read_unit(k)) for k in range(n)])

# 2. a polynomial c_ij(x) per pixel, normalised so that one alpha fits all
a = curve.fit(C / contrast.normaliser(C.max(axis=0), ContrastParams()), degree=8)

# 3. the paper's start: windowed argmax, blurred
search = PeakSearch(window=15)
for k in range(n):
    search.add(k, C[k])
d_0 = curve.index_to_x(contrast.box_mean(search.index, 21), n)

# 4. minimise E(d) = -sum c(d) + alpha |Kd|
solution = linearised_admm(ContrastTerm(a), d_0, SolverParams(alpha=1 / 8))

index = curve.x_to_index(solution.d, n)
print(f"energy {solution.trace.start_energy:.0f} -> {solution.trace.energy[-1]:.0f}")
print(
    f"error {rmse(index, scene.truth_index):.2f} frames, "
    f"start {rmse(curve.x_to_index(d_0, n), scene.truth_index):.2f} frames"
)
