"""
How the energy falls
====================

The paper's linearised ADMM against the default solver, a pyramid that hands over to a primal-dual
method, and the quadratic penalty that the paper compares with. The pyramid works on smaller
images first and reports its last level only: an iteration of it costs a fraction of the others'.
``result.trace`` has these figures.
"""

import matplotlib.pyplot as plt

import varfocus

scene = varfocus.simulate("steps", shape=(160, 200), n=15)

figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
for solver in ("admm", "pyramid", "penalty"):
    trace = varfocus.reconstruct(scene.frames, "paper", solver=solver).trace
    axis.plot(trace.iterations, trace.energy, "o" if solver == "pyramid" else "-", label=solver)
axis.set(xlabel="iteration", ylabel="energy E(d)")
axis.legend()
