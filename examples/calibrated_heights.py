"""A microscopist's view: known z-steps, heights in micrometres, and only what can be trusted.

python examples/calibrated_heights.py
"""

import numpy as np

import varfocus

scene = varfocus.simulate("sphere", shape=(200, 200), n=21, dtype="uint16")
z = np.arange(len(scene.frames)) * 2.0  # a stage that moves by 2 µm between frames
result = varfocus.reconstruct(scene.frames, focus=z, unit="um")

sure = result.confidence >= 0.9
truth = np.interp(scene.truth_index, np.arange(z.size), z)
error = np.abs(result.depth - truth)
print(f"{sure.mean():.0%} of the surface is sure")
print(
    f"median height error there: {np.median(error[sure]):.2f} um, elsewhere: "
    f"{np.median(error[~sure]):.2f} um"
)
