"""Files of every supported kind, written by real libraries, with the pixels they must give."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass

import imagecodecs
import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image

H, W = 11, 19  # odd and unequal, so that padding and swapped axes show


@dataclass(frozen=True)
class Sample:
    """A file's bytes, the format they are in, and what they decode to."""

    data: bytes
    format: str
    pixels: NDArray


def noise(shape, dtype=np.uint8, seed=0):
    rng = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        return rng.normal(size=shape).astype(dtype)
    return rng.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def smooth(height=H, width=W, channels=3):
    """Pixels that JPEG does not change by much."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [120 + 100 * np.sin(x / (5 + c) + y / 7) for c in range(channels)]
    pixels = np.stack(planes, axis=-1).astype(np.uint8)
    return pixels[..., 0] if channels == 1 else pixels


def by_pillow(image, format, **options):  # noqa: A002
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image)
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def by_tifffile(pixels, **options):
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, pixels, **options)
    return buffer.getvalue()


def png_chunk(kind, content):
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


def png(head, rows):
    """A PNG of filtered rows; `head` is width, height, bits, kind of colour and three methods."""
    return (
        b"\x89PNG\r\n\x1a\n"
        + png_chunk(b"IHDR", struct.pack(">IIBBBBB", *head))
        + png_chunk(b"IDAT", zlib.compress(b"".join(rows)))
        + png_chunk(b"IEND", b"")
    )


def grey_png(values, bits):
    """A PNG of 1, 2 or 4 bits, which no library at hand writes as such."""
    height, width = values.shape
    rows = []
    for row in values:
        digits = "".join(f"{v:0{bits}b}" for v in row)
        digits += "0" * (-len(digits) % 8)
        rows.append(b"\0" + int(digits, 2).to_bytes(len(digits) // 8, "big"))
    return png((width, height, bits, 0, 0, 0, 0), rows)


def interlaced_png(pixels):
    """An 8-bit PNG in seven passes, from coarse to fine."""
    height, width = pixels.shape[:2]
    starts = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2))
    passes = [pixels[y::dy, x::dx] for y, x, dy, dx in (*starts, (1, 0, 2, 1))]
    rows = (b"\0" + row.tobytes() for part in passes if part.size for row in part)
    return png((width, height, 8, 2, 0, 0, 1), rows)


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags.tobytes()


def jpeg_pixels(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB") if image.mode == "CMYK" else image)


def png_samples():
    grey8, rgb8, rgba8 = noise((H, W)), noise((H, W, 3)), noise((H, W, 4))
    grey16, rgb16 = noise((H, W), np.uint16), noise((H, W, 3), np.uint16)
    grey_alpha16, rgba16 = noise((H, W, 2), np.uint16), noise((H, W, 4), np.uint16)
    palette = Image.fromarray(smooth()).quantize(16)
    colours = np.asarray(palette.convert("RGB"))
    bilevel = Image.fromarray(grey8 > 100)
    yield "grey8", by_pillow(grey8, "PNG"), grey8
    yield "rgb8", by_pillow(rgb8, "PNG"), rgb8
    yield "interlaced", interlaced_png(rgb8), rgb8
    yield "rgba8", by_pillow(rgba8, "PNG"), rgba8[..., :3]
    la = noise((H, W, 2))
    yield "greyalpha8", by_pillow(Image.fromarray(la, "LA"), "PNG"), la[..., 0]
    yield "grey16", imagecodecs.png_encode(grey16), grey16
    yield "rgb16", imagecodecs.png_encode(rgb16), rgb16
    yield "greyalpha16", imagecodecs.png_encode(grey_alpha16), grey_alpha16[..., 0]
    yield "rgba16", imagecodecs.png_encode(rgba16), rgba16[..., :3]
    yield "palette", by_pillow(palette, "PNG"), colours
    yield "palette-transparent", by_pillow(palette, "PNG", transparency=2), colours
    yield "grey-transparent", by_pillow(grey8, "PNG", transparency=7), grey8
    yield "bilevel", by_pillow(bilevel, "PNG"), (grey8 > 100) * np.uint8(255)
    for bits in (1, 2, 4):
        values = noise((H, W)) >> (8 - bits)
        expected = values * np.uint8(255 // (2**bits - 1))
        yield f"grey{bits}", grey_png(values, bits), expected


def jpeg_samples():
    images = {
        "grey": (Image.fromarray(smooth(channels=1)), {}),
        "rgb": (Image.fromarray(smooth()), {}),
        "progressive": (Image.fromarray(smooth()), {"progressive": True}),
        "restarts": (Image.fromarray(smooth()), {"restart_marker_rows": 1}),
        "unsampled": (Image.fromarray(smooth()), {"subsampling": 0}),
        "stored-rgb": (Image.fromarray(smooth()), {"keep_rgb": True}),
        "cmyk": (Image.fromarray(smooth()).convert("CMYK"), {}),
    }
    for name, (image, options) in images.items():
        data = by_pillow(image, "JPEG", quality=95, **options)
        yield name, data, jpeg_pixels(data)


def bmp_samples():
    grey, rgb, rgba = noise((H, W)), noise((H, W, 3)), noise((H, W, 4))
    palette = Image.fromarray(smooth()).quantize(16)
    yield "grey", by_pillow(grey, "BMP"), grey
    yield "rgb", by_pillow(rgb, "BMP"), rgb
    yield "rgba", by_pillow(rgba, "BMP"), rgba[..., :3]
    yield "palette", by_pillow(palette, "BMP"), np.asarray(palette.convert("RGB"))
    bilevel = grey > 100
    yield "bilevel", by_pillow(Image.fromarray(bilevel), "BMP"), bilevel * np.uint8(255)
    yield "rle8", _rle8(grey), grey
    top_down = bytearray(by_pillow(rgb, "BMP"))
    struct.pack_into("<i", top_down, 22, -H)
    yield "top-down", bytes(top_down), rgb[::-1]


def _rle8(grey):
    """The grey BMP with each row as runs of one pixel."""
    plain = by_pillow(grey, "BMP")
    (start,) = struct.unpack_from("<I", plain, 10)
    head = bytearray(plain[:start])
    struct.pack_into("<I", head, 30, 1)
    rows = (b"".join(bytes((1, v)) for v in row) + b"\0\0" for row in grey[::-1])
    return bytes(head) + b"".join(rows) + b"\0\1"


def tiff_samples():
    for dtype in (np.uint8, np.uint16, np.float16, np.float32, np.float64):
        name = np.dtype(dtype).name
        grey, rgb = noise((H, W), dtype), noise((H, W, 3), dtype)
        out = np.float32 if np.issubdtype(dtype, np.floating) else dtype
        yield f"grey-{name}", by_tifffile(grey), grey.astype(out)
        yield f"rgb-{name}", by_tifffile(rgb, photometric="rgb"), rgb.astype(out)
        big = by_tifffile(rgb, photometric="rgb", byteorder=">", bigtiff=True)
        yield f"big-endian-{name}", big, rgb.astype(out)
    yield from _tiff_layouts()
    yield from _tiff_colours()


def _tiff_layouts():
    tall = noise((70, 45, 3), np.uint16)
    rgb = {"photometric": "rgb"}
    for compression in ("lzw", "deflate", "packbits", "lzma", "zstd"):
        data = by_tifffile(tall, compression=compression, rowsperstrip=16, **rgb)
        yield compression, data, tall
    data = by_tifffile(tall, compression="deflate", predictor=True, **rgb)
    yield "predictor", data, tall
    smooth_float = tall.astype(np.float32) / 7
    data = by_tifffile(smooth_float, compression="zstd", predictor=True, **rgb)
    yield "predictor-float", data, smooth_float
    yield "tiled", by_tifffile(tall, tile=(32, 16), **rgb), tall
    yield "tiled-lzw", by_tifffile(tall, tile=(32, 16), compression="lzw", **rgb), tall
    planes = np.moveaxis(tall, -1, 0)
    yield "planar", by_tifffile(planes, planarconfig="separate", **rgb), tall
    data = by_tifffile(planes, planarconfig="separate", tile=(32, 32), compression="zlib", **rgb)
    yield "planar-tiled", data, tall
    rgba = noise((4, H, W))
    data = by_tifffile(rgba, planarconfig="separate", extrasamples=["unassalpha"], **rgb)
    yield "planar-alpha", data, np.moveaxis(rgba, 0, -1)[..., :3]
    colour = smooth(64, 48)
    data = by_tifffile(colour, compression="jpeg", compressionargs={"level": 95}, **rgb)
    yield "jpeg", data, tifffile.imread(io.BytesIO(data))
    data = by_pillow(colour, "TIFF", compression="jpeg")
    yield "jpeg-libtiff", data, tifffile.imread(io.BytesIO(data))


def _tiff_colours():
    grey, rgba = noise((H, W)), noise((H, W, 4))
    grey16 = noise((H, W), np.uint16)
    yield "min-is-white", by_tifffile(grey, photometric="miniswhite"), 255 - grey
    yield "min-is-white16", by_tifffile(grey16, photometric="miniswhite"), 65535 - grey16
    bilevel = grey > 100
    yield "bilevel", by_tifffile(bilevel, photometric="minisblack"), bilevel * np.uint8(255)
    white = by_tifffile(bilevel, photometric="miniswhite")
    yield "bilevel-white", white, ~bilevel * np.uint8(255)
    for bits in (2, 4):
        values = grey >> (8 - bits)
        expected = values * np.uint8(255 // (2**bits - 1))
        yield f"grey{bits}", by_tifffile(values, bitspersample=bits), expected
    values = grey16 >> 4
    yield "grey12", by_tifffile(values, bitspersample=12), values
    yield "rgba", by_pillow(rgba, "TIFF"), rgba[..., :3]
    la = noise((H, W, 2))
    yield "grey-alpha", by_pillow(Image.fromarray(la, "LA"), "TIFF"), la[..., 0]
    palette = Image.fromarray(smooth()).quantize(16)
    yield "palette", by_pillow(palette, "TIFF"), np.asarray(palette.convert("RGB"))
    with_thumbnail = io.BytesIO()
    with tifffile.TiffWriter(with_thumbnail) as writer:
        writer.write(grey)
        writer.write(grey[::2, ::2], subfiletype=1)
    yield "thumbnail", with_thumbnail.getvalue(), grey


_MAKERS = {"PNG": png_samples, "JPEG": jpeg_samples, "BMP": bmp_samples, "TIFF": tiff_samples}
SAMPLES = {
    f"{kind}-{name}": Sample(data, kind, pixels)
    for kind, make in _MAKERS.items()
    for name, data, pixels in make()
}
"""Every kind of file that is read."""
