"""Surfaces as the bytes of PLY, GLB, STL and OBJ files."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.surface import Mesh, vertex_normals

LARGEST_TEXTURE = 4096
"""Side in pixels of the largest texture that every viewer accepts."""

_FLOAT, _UINT32 = 5126, 5125  # component types of glTF
_VERTICES, _INDICES = 34962, 34963  # buffer targets of glTF


def stl(mesh: Mesh, note: str) -> bytes:
    """Return a binary STL; its coordinates are those of the mesh.

    Parameters
    ----------
    mesh : Mesh
        Surface.
    note : str
        For the header, of which 80 bytes are kept.

    Returns
    -------
    bytes
        The file.
    """
    corner = mesh.vertices[mesh.faces]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    record = np.zeros(
        len(corner), [("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")]
    )
    record["normal"] = normal / np.where(length > 0.0, length, 1.0)
    record["corner"] = corner
    header = note.encode("ascii", "replace")[:80].ljust(80)
    return header + struct.pack("<I", len(record)) + record.tobytes()


def obj(mesh: Mesh, colours: NDArray[np.uint8], note: str) -> bytes:
    """Return an OBJ with a colour at every vertex, which needs no second file.

    Parameters
    ----------
    mesh : Mesh
        Surface.
    colours : ndarray of shape (N, 3), uint8
        Colour of each vertex.
    note : str
        For the first line.

    Returns
    -------
    bytes
        The file.
    """
    rows = np.column_stack([mesh.vertices, colours / 255.0])
    lines = [f"# {note}"]
    lines += ["v %.7g %.7g %.7g %.4g %.4g %.4g" % tuple(row) for row in rows]  # noqa: UP031
    lines += ["f %d %d %d" % tuple(face) for face in mesh.faces + 1]  # noqa: UP031
    return ("\n".join(lines) + "\n").encode()


def ply_points(points: NDArray[np.float32], colours: NDArray[np.uint8], note: str) -> bytes:
    """Return a binary PLY of coloured points.

    Parameters
    ----------
    points : ndarray of shape (N, 3), float32
        Coordinates.
    colours : ndarray of shape (N, 3), uint8
        Red, green, blue.
    note : str
        For a comment in the header.

    Returns
    -------
    bytes
        The file.
    """
    record = np.empty(len(points), [("point", "<f4", 3), ("colour", "u1", 3)])
    record["point"], record["colour"] = points, colours
    header = ["ply", "format binary_little_endian 1.0", f"comment {note}"]
    header.append(f"element vertex {len(points)}")
    header += [f"property float {axis}" for axis in "xyz"]
    header += [f"property uchar {channel}" for channel in ("red", "green", "blue")]
    header.append("end_header\n")
    return "\n".join(header).encode("ascii", "replace") + record.tobytes()


def glb(mesh: Mesh, picture: NDArray[np.uint8], note: str) -> bytes:
    """Return a binary glTF 2.0: one mesh with normals, and the picture as its texture.

    Parameters
    ----------
    mesh : Mesh
        Surface in metres, as the format demands.
    picture : ndarray of shape (H, W, 3), uint8
        Texture over the whole map.
    note : str
        For the record in the file.

    Returns
    -------
    bytes
        The file.
    """
    parts: list[tuple[bytes, int | None]] = [
        (mesh.vertices.astype("<f4").tobytes(), _VERTICES),
        (vertex_normals(mesh).astype("<f4").tobytes(), _VERTICES),
        (mesh.places.astype("<f4").tobytes(), _VERTICES),
        (mesh.faces.astype("<u4").tobytes(), _INDICES),
        (jpeg(picture, 92, LARGEST_TEXTURE), None),
    ]
    views, binary = [], b""
    for content, target in parts:
        view: dict[str, Any] = {
            "buffer": 0,
            "byteOffset": len(binary),
            "byteLength": len(content),
        }
        views.append(view if target is None else view | {"target": target})
        binary += content + b"\0" * (-len(content) % 4)
    count = len(mesh.vertices)
    bounds: dict[str, Any] = {}
    if count:
        bounds = {
            "min": mesh.vertices.min(axis=0).tolist(),
            "max": mesh.vertices.max(axis=0).tolist(),
        }
    vector = {"componentType": _FLOAT, "count": count}
    document = {
        "asset": {"version": "2.0", "generator": "varfocus", "extras": {"note": note}},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "surface"}],
        "meshes": [
            {
                "name": "surface",
                "primitives": [
                    {
                        "attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2},
                        "indices": 3,
                        "material": 0,
                    }
                ],
            }
        ],
        "materials": [
            {
                "doubleSided": True,
                "pbrMetallicRoughness": {
                    "baseColorTexture": {"index": 0},
                    "metallicFactor": 0.0,
                    "roughnessFactor": 0.9,
                },
            }
        ],
        "textures": [{"source": 0, "sampler": 0}],
        "samplers": [{"magFilter": 9729, "minFilter": 9987, "wrapS": 33071, "wrapT": 33071}],
        "images": [{"bufferView": 4, "mimeType": "image/jpeg"}],
        "accessors": [
            vector | {"bufferView": 0, "type": "VEC3"} | bounds,
            vector | {"bufferView": 1, "type": "VEC3"},
            vector | {"bufferView": 2, "type": "VEC2"},
            {
                "bufferView": 3,
                "componentType": _UINT32,
                "count": mesh.faces.size,
                "type": "SCALAR",
            },
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": len(binary)}],
    }
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    chunks += struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def jpeg(picture: NDArray[np.uint8], quality: int, largest: int) -> bytes:
    """Return a picture as JPEG, made smaller if a side exceeds `largest` pixels."""
    from PIL import Image

    image = Image.fromarray(picture)
    image.thumbnail((largest, largest), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality, optimize=True)
    return file.getvalue()
