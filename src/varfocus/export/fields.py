"""Depth maps as the bytes of files for other programs: PNG, PFM, EXR, NPZ, GSF and X3P."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import MissingExtraError

PNG_LEVELS = 65534
"""Steps between the least depth, stored as 1, and the largest, stored as 65535; 0 is unknown."""


def png_scale(depth: NDArray[np.float32]) -> tuple[float, float]:
    """Return scale and offset of the 16-bit PNG: depth = offset + scale · value, value ≥ 1."""
    known = depth[np.isfinite(depth)].astype(np.float64)
    low, high = (known.min(), known.max()) if known.size else (0.0, 0.0)
    scale = (high - low) / PNG_LEVELS or 1.0
    return float(scale), float(low - scale)


def png16(depth: NDArray[np.float32], unit: str) -> bytes:
    """Return a 16-bit grey PNG; 0 is unknown, scale and offset are in its tEXt chunks.

    Parameters
    ----------
    depth : ndarray of shape (H, W), float32
        NaN where unknown.
    unit : str
        Its unit.

    Returns
    -------
    bytes
        The file.
    """
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    scale, offset = png_scale(depth)
    value = np.rint((depth.astype(np.float64) - offset) / scale)
    stored = np.where(np.isfinite(value), np.clip(value, 1, PNG_LEVELS + 1), 0).astype(np.uint16)
    text = PngInfo()
    text.add_text("scale", repr(scale))
    text.add_text("offset", repr(offset))
    text.add_text("unit", unit)
    text.add_text("Description", "depth = offset + scale * value; value 0 = unknown")
    file = io.BytesIO()
    Image.fromarray(stored).save(file, "PNG", pnginfo=text)
    return file.getvalue()


def pfm(depth: NDArray[np.float32]) -> bytes:
    """Return a portable float map: rows from the bottom up, NaN where unknown."""
    height, width = depth.shape
    return f"Pf\n{width} {height}\n-1.0\n".encode() + depth[::-1].astype("<f4").tobytes()


def exr(channels: dict[str, NDArray[np.float32]], note: str) -> bytes:
    """Return an OpenEXR file with one float channel per map.

    Parameters
    ----------
    channels : dict of str to ndarray of shape (H, W), float32
        Maps by name; "Z" is what programs take for depth.
    note : str
        For the comments.

    Returns
    -------
    bytes
        The file.
    """
    try:
        import OpenEXR
    except ImportError as error:
        raise MissingExtraError("EXR files", "OpenEXR", "exr") from error
    import tempfile
    from pathlib import Path

    header = {
        "compression": OpenEXR.ZIP_COMPRESSION,
        "type": OpenEXR.scanlineimage,
        "comments": note,
    }
    maps = {name: np.ascontiguousarray(image, np.float32) for name, image in channels.items()}
    with tempfile.TemporaryDirectory() as folder:  # the library writes to names only
        path = Path(folder) / "depth.exr"
        with OpenEXR.File(header, maps) as file:
            file.write(str(path))
        return path.read_bytes()


def npz(arrays: dict[str, NDArray[Any]], record: dict[str, Any]) -> bytes:
    """Return a compressed NumPy archive of the maps, with run.json as text in ``record``."""
    file = io.BytesIO()
    np.savez_compressed(file, record=np.array(json.dumps(record)), **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def gsf(height: NDArray[np.float32], pitch: tuple[float, float], title: str) -> bytes:
    """Return a Gwyddion Simple Field: heights in metres, NaN where unknown.

    Parameters
    ----------
    height : ndarray of shape (H, W), float32
        Height towards the lens in metres.
    pitch : tuple of float
        Distance of neighbouring columns, and of rows, in metres.
    title : str
        What it is.

    Returns
    -------
    bytes
        The file.
    """
    rows, columns = height.shape
    lines = {
        "XRes": columns,
        "YRes": rows,
        "XReal": repr(columns * pitch[0]),
        "YReal": repr(rows * pitch[1]),
        "XYUnits": "m",
        "ZUnits": "m",
        "Title": " ".join(title.split()),
    }
    header = "Gwyddion Simple Field 1.0\n"
    header += "".join(f"{name} = {value}\n" for name, value in lines.items())
    text = header.encode()
    # One to four NULs end the header, so that the data start at a multiple of four.
    return text + b"\0" * (4 - len(text) % 4) + height.astype("<f4").tobytes()


def x3p(height: NDArray[np.float32], pitch: tuple[float, float], note: str) -> bytes:
    """Return an X3P file (ISO 25178-72): a zip of XML, binary heights in metres and checksums.

    Parameters
    ----------
    height : ndarray of shape (H, W), float32
        Height towards the lens in metres; NaN where unknown.
    pitch : tuple of float
        Distance of neighbouring columns, and of rows, in metres.
    note : str
        Comment.

    Returns
    -------
    bytes
        The file.
    """
    data = height.astype("<f8").tobytes()
    main = _x3p_document(height.shape, pitch, note, _md5(data)).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("main.xml", main)
        archive.writestr("bindata/data.bin", data)
        archive.writestr("md5checksum.hex", f"{_md5(main)} *main.xml\n")
    return file.getvalue()


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _x3p_document(
    shape: tuple[int, ...], pitch: tuple[float, float], note: str, checksum: str
) -> str:
    rows, columns = shape
    now = datetime.now(UTC).isoformat(timespec="seconds")

    def axis(name: str, kind: str, increment: float) -> str:
        return (
            f"      <{name}><AxisType>{kind}</AxisType><DataType>D</DataType>"
            f"<Increment>{increment!r}</Increment><Offset>0</Offset></{name}>\n"
        )

    return f"""<?xml version="1.0" encoding="UTF-8"?>
<p:ISO5436_2 xmlns:p="http://www.opengps.eu/2008/ISO5436_2">
  <Record1>
    <Revision>ISO5436 - 2000</Revision>
    <FeatureType>SUR</FeatureType>
    <Axes>
{axis("CX", "I", pitch[0])}{axis("CY", "I", pitch[1])}{axis("CZ", "A", 1.0)}    </Axes>
  </Record1>
  <Record2>
    <Date>{now}</Date>
    <Creator>varfocus</Creator>
    <Instrument>
      <Manufacturer>unknown</Manufacturer>
      <Model>focus variation, varfocus</Model>
      <Serial>unknown</Serial>
      <Version>unknown</Version>
    </Instrument>
    <CalibrationDate>{now}</CalibrationDate>
    <ProbingSystem>
      <Type>NonContacting</Type>
      <Identification>depth from focus</Identification>
    </ProbingSystem>
    <Comment>{escape(note)}</Comment>
  </Record2>
  <Record3>
    <MatrixDimension>
      <SizeX>{columns}</SizeX><SizeY>{rows}</SizeY><SizeZ>1</SizeZ>
    </MatrixDimension>
    <DataLink>
      <PointDataLink>bindata/data.bin</PointDataLink>
      <MD5ChecksumPointData>{checksum}</MD5ChecksumPointData>
    </DataLink>
  </Record3>
  <Record4><ChecksumFile>md5checksum.hex</ChecksumFile></Record4>
</p:ISO5436_2>
"""
