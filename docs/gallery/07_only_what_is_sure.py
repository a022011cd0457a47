"""
Keep only what is sure
======================

Confidence is a probability: that the depth is right to within one frame. Dropping the least
confident pixels drops the errors. The curve shows what error remains; the map is cut at 0.9.
"""

import matplotlib.pyplot as plt
import numpy as np

import varfocus
from varfocus.studies.metrics import sparsification

scene = varfocus.simulate("textureless", n=15)
result = varfocus.reconstruct(scene.stack)
left_over = sparsification(result.confidence, result.index, scene.truth_index)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
left.imshow(result.index)
left.set_title("depth")
middle.imshow(np.where(result.confidence >= 0.9, result.index, np.nan))
middle.set_title(f"confidence ≥ 0.9: {np.mean(result.confidence >= 0.9):.0%} of the pixels")
for axis in (left, middle):
    axis.set_axis_off()
right.plot(left_over.dropped, left_over.rmse, label="by confidence")
right.plot(left_over.dropped, left_over.oracle, ":", label="by the true error")
right.set(xlabel="share of pixels dropped", ylabel="RMSE left (frames)", ylim=(0, None))
right.legend()
