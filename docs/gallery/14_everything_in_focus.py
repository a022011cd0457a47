"""
Everything in focus
===================

The mean of the frames is soft, and the sharpest frame of every pixel is noisy. The fused picture
follows the depth and blends scale by scale. The number compares it with the true picture (PSNR).
"""

import matplotlib.pyplot as plt
import numpy as np

import varfocus
from varfocus.studies.metrics import psnr

scene = varfocus.simulate("table", n=15, noise=0.5, seed=2)
frames = scene.frames / 255
result = varfocus.reconstruct(scene.stack)
contrast = np.stack([varfocus.contrast.mlap(frame) for frame in frames])
sharpest = np.take_along_axis(frames, contrast.argmax(axis=0)[None, ..., None], axis=0)[0]

pictures = {"mean": frames.mean(axis=0), "sharpest frame": sharpest, "fused": result.fused / 255}
window = (slice(90, 210), slice(70, 230))
figure, axes = plt.subplots(1, 3, figsize=(12, 3.3), layout="constrained")
for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture[window])
    axis.set_title(f"{name}: {psnr(picture, scene.sharp):.1f} dB")
    axis.set_axis_off()
