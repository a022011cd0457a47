"""The depth map as a surface: meshes, measurements, moving pictures."""

from varfocus.surface import measure
from varfocus.surface.mesh import Mesh, height_mesh, height_points, vertex_normals
from varfocus.surface.solid import solid_mesh

__all__ = ["Mesh", "height_mesh", "height_points", "measure", "solid_mesh", "vertex_normals"]
