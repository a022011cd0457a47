"""
Uneven focus steps
==================

Cameras step evenly in 1/distance, people unevenly. Say where each frame was focused, and depth is
in that unit: the steps need not be even.
"""

import matplotlib.pyplot as plt
import numpy as np

import varfocus
from varfocus.studies.metrics import rmse

focus = 0.05 + 0.45 * np.linspace(0, 1, 15) ** 1.7
scene = varfocus.simulate("cone", shape=(200, 200), focus=focus, noise=0.2)
known = varfocus.reconstruct(scene.frames, focus=scene.focus, unit="m")
unaware = varfocus.reconstruct(scene.frames, focus=np.linspace(0.05, 0.5, 15), unit="m")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.plot(scene.focus, "o-")
left.set(xlabel="frame", ylabel="focused at (m)")
for name, result in (("as it was", known), ("taken for even", unaware)):
    off = 100 * rmse(result.depth, scene.truth_depth)
    right.plot(result.depth[100], label=f"{name}: {off:.1f} cm off")
right.plot(scene.truth_depth[100], "k:", label="truth")
right.set(xlabel="pixel", ylabel="depth (m)")
right.legend()
