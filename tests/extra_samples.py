"""Files of the formats whose libraries are extras, written here: RAW, video, LIF and CZI."""

import struct

import numpy as np
import pytest
import tifffile

# RAW: DNG with what a developer needs to know of the camera

IDENTITY = (1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1)
"""Camera colours from XYZ, as numerators and denominators."""


def write_dng(path, mosaic, neutral=(1.0, 1.0, 1.0), orientation=1):
    """Write a Bayer mosaic of 16 bits; `neutral` is how the camera sees white."""
    white = tuple(part for factor in neutral for part in (round(factor * 1000), 1000))
    tags = [
        (274, "H", 1, orientation, True),
        (33421, "H", 2, (2, 2), True),
        (33422, "B", 4, (0, 1, 1, 2), True),  # RGGB
        (50706, "B", 4, (1, 4, 0, 0), True),
        (50707, "B", 4, (1, 1, 0, 0), True),
        (50708, "s", 0, "a camera", True),
        (50714, "H", 1, 0, True),
        (50717, "I", 1, 65535, True),
        (50721, "2i", 9, IDENTITY, True),
        (50728, "2I", 3, white, True),
        (50778, "H", 1, 21, True),
    ]
    tifffile.imwrite(path, mosaic, photometric=32803, extratags=tags, metadata=None)


def patches(dark=8000, bright=32000):
    """Return a mosaic of two grey fields, large enough to be exact away from their border."""
    mosaic = np.full((48, 64), dark, np.uint16)
    mosaic[:, 32:] = bright
    return mosaic


# Video


def write_video(path, frames, codec="ffv1", pixel_format="gray", container="matroska"):
    av = pytest.importorskip("av", reason="needs varfocus[video]")
    height, width = frames.shape[1:3]
    with av.open(path, "w", format=container) as output:
        stream = output.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        for frame in frames:
            layout = {(2, 1): "gray", (2, 2): "gray16le"}.get((frame.ndim, frame.itemsize), "rgb24")
            picture = av.VideoFrame.from_ndarray(frame, format=layout)
            output.mux(stream.encode(picture.reformat(format=pixel_format)))
        output.mux(stream.encode())
    return path


# LIF: an XML header in UTF-16, then blocks of pixels


def lif_image(name, number, array):
    times, slices, channels, height, width = array.shape
    size = array.itemsize
    steps = [
        (1, width, "m", 0.5e-6, size),
        (2, height, "m", 0.25e-6, width * size),
        (3, slices, "m", 2e-6, channels * height * width * size),
        (4, times, "s", 1.0, slices * channels * height * width * size),
    ]
    dimensions = "".join(
        f'<DimensionDescription DimID="{axis}" NumberOfElements="{n}" Origin="0" '
        f'Length="{(n - 1) * step!r}" Unit="{unit}" BytesInc="{stride}" BitInc="0"/>'
        for axis, n, unit, step, stride in steps
        if n > 1
    )
    described = "".join(
        f'<ChannelDescription DataType="0" ChannelTag="0" Resolution="{8 * size}" '
        'NameOfMeasuredQuantity="" Min="0" Max="1" Unit="" LUTName="Gray" IsLUTInverted="0" '
        f'BytesInc="{c * height * width * size}" BitInc="0"/>'
        for c in range(channels)
    )
    return (
        f'<Element Name="{name}"><Data><Image TextDescription=""><ImageDescription>'
        f"<Channels>{described}</Channels><Dimensions>{dimensions}</Dimensions>"
        f'</ImageDescription></Image></Data><Memory Size="{array.nbytes}" '
        f'MemoryBlockID="MemBlock_{number}"/></Element>'
    )


def write_lif(path, images):
    elements = "".join(lif_image(name, k, a) for k, (name, a) in enumerate(images.items()))
    xml = (
        '<LMSDataContainerHeader Version="2"><Element Name="project"><Data><Experiment/></Data>'
        '<Memory Size="0" MemoryBlockID="MemBlock_none"/>'
        f"<Children>{elements}</Children></Element></LMSDataContainerHeader>"
    ).encode("utf-16-le")
    blocks = [("MemBlock_none", b"")]
    blocks += [(f"MemBlock_{k}", a.tobytes()) for k, a in enumerate(images.values())]
    with path.open("wb") as file:
        file.write(struct.pack("<IIBI", 0x70, len(xml) + 5, 0x2A, len(xml) // 2) + xml)
        for block, data in blocks:
            name = block.encode("utf-16-le")
            head = (0x70, len(name) + 14, 0x2A, len(data), 0x2A, len(name) // 2)
            file.write(struct.pack("<IIBQBI", *head) + name + data)
    return path


# CZI: segments of 32 bytes of header and their content


def czi_segment(kind, content):
    size = -(-len(content) // 32) * 32
    return struct.pack("<16sqq", kind, size, len(content)) + content.ljust(size, b"\0")


def czi_entry(pixel_type, position, dimensions):
    entry = struct.pack(
        "<2siqiiBB4si", b"DV", pixel_type, position, 0, 0, 0, 0, b"", len(dimensions)
    )
    for axis, start, size in dimensions:
        entry += struct.pack("<4siifi", axis.encode(), start, size, float(start), size)
    return entry


CZI_XML = b"""<ImageDocument><Metadata><Information><Image><Dimensions><Channels>
<Channel Name="red"/><Channel Name="green"/><Channel Name="blue"/>
</Channels></Dimensions></Image></Information><Scaling><Items>
<Distance Id="X"><Value>5e-07</Value></Distance><Distance Id="Y"><Value>2.5e-07</Value></Distance>
<Distance Id="Z"><Value>2e-06</Value></Distance></Items></Scaling></Metadata></ImageDocument>"""


def write_czi(path, blocks, pixel_type):
    """Write sub-blocks, given as their dimensions, X first, and their pixels."""
    content = czi_segment(b"ZISRAWFILE", b"\0" * 512)
    entries = []
    for dimensions, pixels in blocks:
        entry = czi_entry(pixel_type, len(content), dimensions)
        entries.append(entry)
        data = struct.pack("<iiq", 0, 0, pixels.nbytes) + entry
        data += b"\0" * max(240 - len(entry), 0) + pixels.tobytes()
        content += czi_segment(b"ZISRAWSUBBLOCK", data)
    directory = len(content)
    listed = struct.pack("<i", len(entries)) + b"\0" * 124 + b"".join(entries)
    content += czi_segment(b"ZISRAWDIRECTORY", listed)
    metadata = len(content)
    content += czi_segment(
        b"ZISRAWMETADATA", struct.pack("<ii", len(CZI_XML), 0) + b"\0" * 248 + CZI_XML
    )
    header = struct.pack("<iiii16s16siqqiq", 1, 0, 0, 0, b"", b"", 0, directory, metadata, 0, 0)
    path.write_bytes(content[:32] + header + content[32 + len(header) :])
    return path
