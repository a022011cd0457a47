"""
For red-cyan glasses
====================

Depth shifts every point for either eye. ``varfocus animate out/ -o anaglyph.png`` does the same.
"""

import matplotlib.pyplot as plt

import varfocus
from varfocus.surface.stereo import stereo

scene = varfocus.simulate("table", n=15)
result = varfocus.reconstruct(scene.stack)
picture = stereo(result.fused, -result.index, swing=0.02, layout="anaglyph")

figure, axis = plt.subplots(figsize=(7, 5.6), layout="constrained")
axis.imshow(picture)
axis.set_axis_off()
