"""Microscope files: LIF and CZI written here byte by byte, ND2 by the library's own objects."""

import pickle
import struct
from types import MappingProxyType

import numpy as np
import pytest
from image_samples import noise

from varfocus.errors import AmbiguousInputError, UnreadableFrameError
from varfocus.io import read_stack
from varfocus.units import PixelSize

T, Z, C, Y, X = 2, 5, 3, 11, 19
STEP, PIXEL = 2.0, PixelSize(0.5, 0.25, "um")


def check(path, array):
    """A stack of array (T, Z, C, Y, X) comes back exactly, with its sizes, and on threads."""
    stack = read_stack(path, channel=1, time=1)
    np.testing.assert_array_equal(np.stack(list(stack)), array[1, :, 1])
    np.testing.assert_array_equal(np.stack(list(stack.ahead())), array[1, :, 1])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stack)).read(3), array[1, 3, 1])
    assert stack.focus == pytest.approx(STEP * np.arange(Z))
    assert stack.unit == "um"
    assert (stack.pixel_size.x, stack.pixel_size.y) == pytest.approx((PIXEL.x, PIXEL.y))
    with pytest.raises(AmbiguousInputError, match="3 channels"):
        read_stack(path, time=0)
    with pytest.raises(AmbiguousInputError, match="2 times"):
        read_stack(path, channel=0)
    return stack


def check_truncated(path, ends):
    data = path.read_bytes()
    for end in ends:
        path.write_bytes(data[: int(end * len(data))])
        with pytest.raises(UnreadableFrameError, match=path.name):
            list(read_stack(path, channel=0, time=0))


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


def test_lif(tmp_path):
    pytest.importorskip("liffile", reason="needs varfocus[microscopy]")
    array = noise((T, Z, C, Y, X), np.uint16)
    path = write_lif(tmp_path / "a.bin", {"overview": array[:1, :1, :1], "sample": array})
    assert check(path, array).focus_origin == "LIF dimensions"
    check_truncated(path, [0.01, 0.5])


def test_lif_with_several_images(tmp_path):
    pytest.importorskip("liffile", reason="needs varfocus[microscopy]")
    left, right = noise((1, Z, 1, Y, X)), noise((1, 4, 1, Y, X))[..., ::-1]
    path = write_lif(tmp_path / "a.lif", {"left": left, "right": right})
    stack = read_stack(path, series="right")
    np.testing.assert_array_equal(np.stack(list(stack)), right[0, :, 0])
    with pytest.raises(AmbiguousInputError, match=r"2 series: 0 left \(5 slices\), 1 right"):
        read_stack(path)


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


def test_czi_with_tiles(tmp_path):
    """Each plane is two tiles that lie anywhere on the stage."""
    pytest.importorskip("czifile", reason="needs varfocus[microscopy]")
    array = noise((T, Z, C, Y, X), np.uint16)
    blocks = []
    for t, z, c in np.ndindex(T, Z, C):
        for tile, (left, right) in enumerate([(0, 8), (8, X)]):
            where = [("X", left - 40, right - left), ("Y", 100, Y), ("C", c, 1), ("Z", z, 1)]
            where += [("T", t, 1), ("S", 0, 1), ("M", tile, 1)]
            blocks.append((where, np.ascontiguousarray(array[t, z, c, :, left:right])))
    path = write_czi(tmp_path / "a.bin", blocks, 1)
    assert check(path, array).focus_origin == "CZI scaling"
    np.testing.assert_array_equal(read_stack(path, channel="blue", time=0).read(2), array[0, 2, 2])
    check_truncated(path, [0.001, 0.01, 0.5])


def test_czi_in_colour(tmp_path):
    pytest.importorskip("czifile", reason="needs varfocus[microscopy]")
    array = noise((Z, Y, X, 3))
    blocks = [
        ([("X", 0, X), ("Y", 0, Y), ("Z", z, 1), ("C", 0, 1)], array[z, ..., ::-1].copy())
        for z in range(Z)
    ]
    stack = read_stack(write_czi(tmp_path / "a.czi", blocks, 3))
    np.testing.assert_array_equal(np.stack(list(stack.ahead())), array)


# ND2: nobody but Nikon writes it, so the library's objects are filled here


def nd2_metadata(structures):
    volume = structures.Volume(
        axesCalibrated=(True, True, True),
        axesCalibration=(PIXEL.x, PIXEL.y, STEP),
        axesInterpretation=("distance",) * 3,
        bitsPerComponentInMemory=16,
        bitsPerComponentSignificant=16,
        cameraTransformationMatrix=(1.0, 0.0, 0.0, 1.0),
        componentCount=1,
        componentDataType="unsigned",
        voxelCount=(X, Y, Z),
    )
    names = ["red", "green", "blue"]
    return structures.Metadata(
        channels=[
            structures.Channel(
                channel=structures.ChannelMeta(name=name, index=k, color=None),
                loops=None,
                microscope=None,
                volume=volume,
            )
            for k, name in enumerate(names)
        ]
    )


def test_nd2(tmp_path, monkeypatch):
    nd2 = pytest.importorskip("nd2", reason="needs varfocus[microscopy]")
    array = noise((T, Z, C, Y, X), np.uint16)
    used = ("sizes", "dtype", "loop_indices", "metadata", "read_frame", "__enter__", "__exit__")
    assert all(hasattr(nd2.ND2File, name) for name in used)

    class File:
        """What `nd2.ND2File` shows of a file with these pixels."""

        sizes = MappingProxyType({"T": T, "Z": Z, "C": C, "Y": Y, "X": X})
        dtype = array.dtype
        loop_indices = tuple({"T": t, "Z": z} for t, z in np.ndindex(T, Z))
        metadata = nd2_metadata(nd2.structures)

        def __init__(self, path):
            assert path.read_bytes().startswith(b"\xda\xce\xbe\n")

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def read_frame(self, k):
            return array.reshape(T * Z, C, Y, X)[k]

    path = tmp_path / "a.nd2"
    path.write_bytes(b"\xda\xce\xbe\n" + b"\0" * 100)
    with pytest.raises(UnreadableFrameError, match=r"a\.nd2: cannot be decoded \(nd2"):
        read_stack(path)
    monkeypatch.setattr(nd2, "ND2File", File)
    assert check(path, array).focus_origin == "ND2 z-calibration"
    np.testing.assert_array_equal(read_stack(path, channel="blue", time=0).read(2), array[0, 2, 2])
