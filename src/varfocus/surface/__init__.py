"""The depth map as a surface: meshes, measurements, moving pictures."""

from varfocus.surface import measure
from varfocus.surface.mesh import Mesh, height_mesh, height_points, vertex_normals

__all__ = ["Mesh", "height_mesh", "height_points", "measure", "vertex_normals"]
