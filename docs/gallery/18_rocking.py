"""
The scene from both sides
=========================

With depth known, the all-in-focus picture can be seen from a little further left or right.
``varfocus animate out/ -o rocking.webp`` makes a film of it; here are its two ends and the
middle.
"""

import matplotlib.pyplot as plt

import varfocus
from varfocus.surface.animation import tilted, unit_relief

scene = varfocus.simulate("table", n=15)
result = varfocus.reconstruct(scene.stack)
relief = unit_relief(-result.index)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.3), layout="constrained")
for axis, shift in zip(axes, (-9, 0, 9), strict=True):
    axis.imshow(tilted(result.fused, relief, shift))
    axis.set_title({-9: "from the left", 0: "as photographed", 9: "from the right"}[shift])
    axis.set_axis_off()
