"""
A surface to turn
=================

The depth map as a mesh, torn where one object hides another. ``varfocus export out/ -o
model.glb`` writes it with the picture as texture, for Blender, a browser or a slicer.
"""

import matplotlib.pyplot as plt
from matplotlib.colors import LightSource
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import varfocus
from varfocus.surface.mesh import height_mesh

scene = varfocus.simulate("table", n=15)
result = varfocus.reconstruct(scene.stack)
mesh = height_mesh(-10 * result.index, (1.0, 1.0), jump=25.0, triangles=30_000)

corners = mesh.vertices[mesh.faces]
column, row = (mesh.places[mesh.faces].mean(axis=1) * [319, 255]).astype(int).T
colours = result.fused[row, column] / 255

figure = plt.figure(figsize=(8, 6), layout="constrained")
axis = figure.add_subplot(projection="3d")
axis.add_collection3d(
    Poly3DCollection(
        corners, facecolors=colours, shade=True, lightsource=LightSource(200, 70), lw=0
    )
)
low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
axis.set_box_aspect(high - low)
axis.view_init(55, -75)
axis.set_axis_off()
