"""TIFF: pages by tifffile, decoded with imagecodecs; what tifffile tolerates is checked here.

tifffile fills missing strips with zeros, skips tags it cannot read, and leaves colours as they
are stored. So byte counts and tags are checked first, and palette, inverted grey, alpha and
orientation are handled afterwards.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from varfocus.files import open_regular
from varfocus.io.border import RefusedError, damaged, exactly, library, too_many, unsupported
from varfocus.io.contents import Calibration, Contents, decoder, window_decoder
from varfocus.io.header import Header
from varfocus.io.limits import in_force
from varfocus.io.orientation import UPRIGHT, valid_orientation
from varfocus.io.readers import imagej, jpeg, ome
from varfocus.io.readers.tiff_chain import Directory, first_directory, read_directory, walk
from varfocus.io.selection import Selection, Series, choose
from varfocus.stack import supported_dtype, without_alpha

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPage

# tifffile reports through logging and goes on; without a handler that would land on stderr.
logging.getLogger("tifffile").addHandler(logging.NullHandler())

_MIN_IS_WHITE, _MIN_IS_BLACK, _RGB, _PALETTE, _YCBCR = 0, 1, 2, 3, 6
_CFA = (32803, 34892)
_RAW, _JPEG = 1, 7
_COMPRESSIONS = {_RAW, 5, _JPEG, 8, 32773, 32946, 34925, 50000}
_MOST_OF_A_BYTE = {_RAW: 1, 5: 4096, 8: 1032, 32773: 64, 32946: 1032}
"""Bytes that a byte can stand for at the very most, by compression; others have no such bound."""
_COMPRESSION_NAMES = "no, LZW, Deflate, PackBits, JPEG, LZMA or Zstandard compression"
_BITS = {"u": (2, 4, 8, 10, 12, 14, 16), "b": (1,), "f": (16, 32, 64)}
_REDUCED, _MASK = 1, 4
_DNG_VERSION, _SUB_IFDS, _ORIENTATION, _COLOUR_MAP = 50706, 330, 274, 320
_X_RESOLUTION, _Y_RESOLUTION = 282, 283
_REQUIRED = {256, 257, 262}
# Tags without which the pixels would be something else.
_RELEVANT = {*range(256, 260), 262, 266, 273, 274, *range(277, 280), 284, 317, 320}
_RELEVANT |= {254, *range(322, 326), 338, 339, 347, 530}
_JPEG_HEAD = 2**16

LARGEST_SEGMENT = 2**24
"""Pixels in a strip or tile that is decoded for the sake of a part of it."""


STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
"""Classic TIFF and BigTIFF, in either byte order."""


def sniff(head: bytes) -> bool:
    """Tell whether a file that begins like this is a TIFF, and not one of Canon's cameras."""
    return head.startswith(STARTS) and not head[8:].startswith(b"CR\x02\0")


def look(path: Path, selection: Selection) -> Contents:
    """Return the frames of the chosen stack in a TIFF file: see `contents`."""
    with open_regular(path) as file:
        return contents(file, path, selection)


def contents(file: BinaryIO, path: Path, selection: Selection) -> Contents:
    """Return the frames of the chosen stack in a TIFF file, and what it says about sizes.

    Thumbnails and masks, which cameras and editors store as further pages, are not frames.

    Parameters
    ----------
    file : file object
        Open for reading.
    path : Path
        Its name.
    selection : Selection
        Which stack is meant, if ImageJ's or OME's notes list several.
    """
    directories = walk(file)
    tif = _open(file)
    headers = []
    for number, directory in enumerate(directories):
        page = _page(tif, directory, number)
        if number == 0:
            first = page
        elif page.subfiletype & (_REDUCED | _MASK):
            continue
        headers.append(_header(file, page, directory.offset))
    planes = imagej.images(first.description)
    if len(directories) == 1 < planes:
        headers = _planes(file, first, headers[0], planes)
    sizes = Calibration()
    if len(headers) == 1:
        sizes = _sizes_of_single(first, path.name, selection)
    elif ome.is_ome(first.description):
        headers, sizes = _by_ome(headers, first, path.name, selection)
    elif imagej.is_imagej(first.description):
        headers, sizes = _by_imagej(headers, first, selection)
    else:
        choose([Series(path.name, len(headers))], selection)
    return Contents(headers, decoder(path, decode), sizes, window_decoder(path, decode_window))


def is_no_camera_raw(file: BinaryIO) -> bool:
    """Tell whether a TIFF is more than the preview in a camera RAW file."""
    try:
        return not _is_camera_raw(file)
    except RefusedError:  # damaged, which is reported when it is read
        return True


def _is_camera_raw(file: BinaryIO) -> bool:
    offset = first_directory(file)
    page = _page(_open(file), read_directory(file, offset, 0), 0)
    preview = page.subfiletype & _REDUCED and _SUB_IFDS in page.tags
    return bool(_DNG_VERSION in page.tags or page.photometric in _CFA or preview)


def _sizes_of_single(page: TiffPage, name: str, selection: Selection) -> Calibration:
    """Return what a file of one page says about sizes."""
    choice = choose([Series(name, 1)], selection)
    sizes = Calibration()
    if imagej.is_imagej(page.description):
        sizes = imagej.calibration(page.description, _resolution(page), choice)
    elif ome.is_ome(page.description):
        with contextlib.suppress(RefusedError):  # it is a part of something larger
            sizes = ome.read_ome(page.description, page.samplesperpixel, name)[0].calibration(
                choice
            )
    return sizes


def _by_ome(
    headers: list[Header], page: TiffPage, name: str, selection: Selection
) -> tuple[list[Header], Calibration]:
    images = ome.read_ome(page.description, page.samplesperpixel, name)
    choice = choose([image.series for image in images], selection)
    image = images[choice.series]
    by_number = {header.page: header for header in headers}
    chosen = []
    for z, t in choice.planes:
        number = image.page(z, choice.channel, t)
        if number not in by_number:
            raise damaged(f"lacks page {number}, which its OME-XML refers to")
        chosen.append(by_number[number])
    return chosen, image.calibration(choice)


def _by_imagej(
    headers: list[Header], page: TiffPage, selection: Selection
) -> tuple[list[Header], Calibration]:
    axes = imagej.series(page.description)
    claimed = axes.steps * axes.times * len(axes.channels)
    if claimed != len(headers):
        if len(axes.channels) > 1 or (axes.steps > 1 and axes.times > 1):
            raise damaged(f"claims {axes}, but holds {len(headers)} pages")
        axes = replace(axes, steps=len(headers), times=1)  # pages were added or taken away
    choice = choose([axes], selection)
    chosen = [headers[imagej.page(axes, z, choice.channel, t)] for z, t in choice.planes]
    return chosen, imagej.calibration(page.description, _resolution(page), choice)


def _resolution(page: TiffPage) -> tuple[Any, Any]:
    return page.tags.valueof(_X_RESOLUTION), page.tags.valueof(_Y_RESOLUTION)


def decode(file: BinaryIO, header: Header) -> NDArray[Any]:
    """Decode the pixels of one page, in RGB or grey without alpha, as stored."""
    page = _same_page(file, header)
    with library("tifffile"):
        if header.plane:
            pixels = _read_plane(file, page, header.plane)
        else:
            pixels = page.asarray(squeeze=False)
    # (planes of samples, depth, H, W, samples): one of the outer axes holds the samples.
    pixels = np.moveaxis(pixels[:, 0], 0, -1)[..., 0, :] if _is_planar(page) else pixels[0, 0]
    return _finished(pixels, page)


def decode_window(file: BinaryIO, header: Header, rows: slice, columns: slice) -> NDArray[Any]:
    """Decode some rows and columns of a page: only the strips or tiles that they touch."""
    # All segments were checked when the file was looked at: here only those that are read.
    page = _same_page(file, header, whole=False)
    with library("tifffile"):
        pixels = (
            _stored_rows(file, page, header.plane, rows)[:, columns]
            if _is_plain(page)
            else _segments(file, page, rows, columns)
        )
    return _finished(pixels, page)


def _same_page(file: BinaryIO, header: Header, whole: bool = True) -> TiffPage:
    page = _page(_open(file), read_directory(file, header.offset, header.page), header.page)
    seen = _header(file, page, header.offset) if whole else _described(page, header.offset)
    if (seen.shape, seen.dtype) != (header.shape, header.dtype):
        raise damaged("changed since it was looked at")
    return page


def _is_plain(page: TiffPage) -> bool:
    """Tell whether the pixels lie in the file one after another, as they are in memory."""
    whole_bytes = page.dtype is not None and page.bitspersample == 8 * page.dtype.itemsize
    return bool(
        page.compression == _RAW
        and whole_bytes
        and page.fillorder == 1
        and page.is_contiguous
        and not page.is_tiled
        and not _is_planar(page)
    )


def _stored_rows(file: BinaryIO, page: TiffPage, plane: int, rows: slice) -> NDArray[Any]:
    """Return all columns of some rows, (rows, W, samples), of a page that is plain."""
    assert page.dtype is not None
    shape = (rows.stop - rows.start, page.imagewidth, page.samplesperpixel)
    bytes_a_row = page.imagewidth * page.samplesperpixel * page.dtype.itemsize
    file.seek(page.dataoffsets[0] + plane * page.nbytes + rows.start * bytes_a_row)
    dtype = page.dtype.newbyteorder(page.parent.byteorder)
    content = exactly(file, shape[0] * bytes_a_row)
    return np.frombuffer(content, dtype).reshape(shape)


def _segments(file: BinaryIO, page: TiffPage, rows: slice, columns: slice) -> NDArray[Any]:
    """Return (rows, columns, samples) put together from strips or tiles."""
    tall, wide = _segment_size(page)
    across = -(-page.imagewidth // wide)
    out: NDArray[Any] = np.empty(
        (rows.stop - rows.start, columns.stop - columns.start, page.samplesperpixel), page.dtype
    )
    for down in range(rows.start // tall, -(-rows.stop // tall)):
        for over in range(columns.start // wide, -(-columns.stop // wide)):
            number = down * across + over
            if page.compression == _JPEG:
                _check_jpeg_sizes(file, page, [number])
            file.seek(page.dataoffsets[number])
            content = exactly(file, page.databytecounts[number])
            segment = page.decode(content, number, jpegtables=page.jpegtables)[0]
            if segment is None:
                raise damaged(f"strip or tile {number} of page {page.index} is empty")
            top, left = down * tall, over * wide
            y = slice(max(rows.start, top), min(rows.stop, top + tall, page.imagelength))
            x = slice(max(columns.start, left), min(columns.stop, left + wide, page.imagewidth))
            out[
                y.start - rows.start : y.stop - rows.start,
                x.start - columns.start : x.stop - columns.start,
            ] = segment[0, y.start - top : y.stop - top, x.start - left : x.stop - left]
    return out


def _segment_size(page: TiffPage) -> tuple[int, int]:
    """Return height and width of the strips or tiles of a page."""
    if page.is_tiled:
        return page.tilelength, page.tilewidth
    return min(page.rowsperstrip, page.imagelength), page.imagewidth


def _windowed(page: TiffPage, orientation: int) -> bool:
    """Tell whether parts of a page can be decoded without too much of the rest."""
    if orientation != UPRIGHT or _is_planar(page):
        return False
    return _is_plain(page) or math.prod(_segment_size(page)) <= LARGEST_SEGMENT


def _open(file: BinaryIO) -> TiffFile:
    from tifffile import TiffFile

    file.seek(0)
    with library("tifffile"):
        # The flags switch off guesses from the file's name and pages beyond the chain.
        return TiffFile(file, is_ndpi=False, is_scanimage=False)


def _page(tif: TiffFile, directory: Directory, number: int) -> TiffPage:
    from tifffile import TiffPage

    with library("tifffile"):
        tif.filehandle.seek(directory.offset)
        page = TiffPage(tif, index=number)
    lost = (directory.tags & _RELEVANT) - set(page.tags.keys())
    lost |= _REQUIRED - directory.tags
    if lost:
        raise damaged(f"page {number} lacks a readable tag {min(lost)}")
    return page


def _header(file: BinaryIO, page: TiffPage, offset: int) -> Header:
    """Check that all of the page can be decoded, and return its properties."""
    header = _described(page, offset)
    _check_segments(file, page)
    return header


def _described(page: TiffPage, offset: int) -> Header:
    _check_kind(page)
    _check_colour(page)
    palette = page.photometric == _PALETTE
    dtype = np.dtype(np.uint8) if palette else _target_dtype(page)
    orientation = valid_orientation(page.tags.valueof(_ORIENTATION, default=UPRIGHT))
    return Header(
        page.imagewidth,
        page.imagelength,
        page.photometric in (_RGB, _PALETTE, _YCBCR),
        dtype,
        orientation,
        page.index,
        offset,
        windowed=_windowed(page, orientation),
    )


def _target_dtype(page: TiffPage) -> np.dtype[Any]:
    if page.dtype is None:
        raise unsupported(f"has {page.bitspersample}-bit samples of format {page.sampleformat}")
    if page.dtype.kind not in _BITS or (page.dtype.kind == "u" and page.dtype.itemsize > 2):
        raise unsupported(f"has pixels of type {page.dtype}")
    if page.bitspersample not in _BITS[page.dtype.kind]:
        raise unsupported(f"has {page.bitspersample}-bit samples")
    return supported_dtype(np.empty(0, page.dtype), "").dtype


def _check_kind(page: TiffPage) -> None:
    """Refuse what would be decoded wrongly, without bounds, or not at all."""
    sizes = (page.imagewidth, page.imagelength, page.samplesperpixel, page.rowsperstrip)
    tiles = (page.tilewidth, page.tilelength)
    for number in (*sizes, *tiles, page.photometric, page.compression, page.planarconfig):
        if not isinstance(number, int) or number < 0:
            raise damaged(f"page {page.index} has a damaged tag")
    if page.imagedepth != 1 or page.tiledepth != 1:
        raise unsupported("is a volume", "expected one page per focus step")
    if page.compression not in _COMPRESSIONS:
        name = getattr(page.compression, "name", page.compression)
        raise unsupported(f"is compressed with {name}", f"expected {_COMPRESSION_NAMES}")
    if page.is_tiled and not 0 < math.prod(tiles) <= in_force().max_pixels:
        raise damaged(f"claims tiles of {tiles[0]}×{tiles[1]} pixels")


def _check_colour(page: TiffPage) -> None:
    colours = {_MIN_IS_WHITE: 1, _MIN_IS_BLACK: 1, _PALETTE: 1, _RGB: 3, _YCBCR: 3}
    name = getattr(page.photometric, "name", page.photometric)
    if page.photometric not in colours:
        raise unsupported(f"has pixels in {name} colours")
    expected = colours[page.photometric]
    # One more is alpha; images of more channels have no colour that could be shown.
    if page.samplesperpixel not in (expected, expected + 1):
        raise unsupported(f"has {page.samplesperpixel} channels in {name} colours")
    if page.photometric == _YCBCR and page.compression != _JPEG:
        raise unsupported("has YCbCr pixels that are not JPEG compressed")
    if page.photometric == _MIN_IS_WHITE and page.dtype is not None and page.dtype.kind == "f":
        raise unsupported("has floating-point pixels with white as the least")
    if page.photometric == _PALETTE:
        _colour_map(page)


def _colour_map(page: TiffPage) -> NDArray[np.uint8]:
    """Return the palette as (entries, 3)."""
    _target_dtype(page)
    entries = 2**page.bitspersample
    raw = np.asarray(page.tags.valueof(_COLOUR_MAP))
    if page.dtype is None or page.dtype.kind == "f" or raw.dtype.kind != "u":
        raise damaged("has no palette")
    if raw.size != 3 * entries:
        raise damaged(f"has a palette of {raw.size // 3} colours for {entries} values")
    # The palette has 16 bits, but some writers put 8-bit numbers into it.
    raw = raw.reshape(3, entries).T
    return (raw >> 8 if raw.max() > 255 else raw).astype(np.uint8)


def _check_segments(file: BinaryIO, page: TiffPage) -> None:
    """Refuse a page whose strips or tiles are missing, empty or not all in the file."""
    offsets, counts = page.dataoffsets, page.databytecounts
    with library("tifffile"):
        expected = math.prod(page.chunked)
    if not len(offsets) == len(counts) == expected:
        raise damaged(f"page {page.index} lists {len(offsets)} of {expected} strips or tiles")
    end = file.seek(0, io.SEEK_END)
    for k, (offset, count) in enumerate(zip(offsets, counts, strict=True)):
        if not (isinstance(offset, int) and isinstance(count, int)):
            raise damaged(f"page {page.index} has a damaged list of strips or tiles")
        if offset <= 0 or count <= 0:
            raise damaged(f"strip or tile {k} of page {page.index} is empty")
        if offset + count > end:
            raise damaged(
                f"ends early: strip or tile {k} of page {page.index} reaches to byte "
                f"{offset + count} of {end}"
            )
    least = page.imagelength * page.samplesperpixel * (page.imagewidth * page.bitspersample // 8)
    if page.compression in _MOST_OF_A_BYTE and (
        least > _MOST_OF_A_BYTE[page.compression] * sum(counts)
    ):
        raise damaged(
            f"claims {page.imagewidth}×{page.imagelength} pixels in {sum(counts)} bytes, "
            "which cannot be"
        )
    if page.compression == _JPEG:
        _check_jpeg_sizes(file, page, range(len(counts)))


def _check_jpeg_sizes(file: BinaryIO, page: TiffPage, numbers: Iterable[int]) -> None:
    """Refuse JPEG strips or tiles that are larger inside than the page says."""
    if page.is_tiled:
        width, height = page.tilewidth, page.tilelength
    else:
        width, height = page.imagewidth, page.rowsperstrip
    for number in numbers:
        file.seek(page.dataoffsets[number])
        head = file.read(min(page.databytecounts[number], _JPEG_HEAD))
        inside = jpeg.read_markers(io.BytesIO(head))
        if inside[0] > width or inside[1] > height:
            raise damaged(f"holds a JPEG of {inside[0]}×{inside[1]} for {width}×{height} pixels")


def _planes(file: BinaryIO, page: TiffPage, header: Header, count: int) -> list[Header]:
    """Return the frames of an ImageJ file that lists only the first, as those over 4 GB do."""
    if page.compression != _RAW or not page.is_contiguous:
        return [header]
    stored = (file.seek(0, io.SEEK_END) - page.dataoffsets[0]) // page.nbytes
    if stored < 2:  # a page taken out of a stack, with the stack's description
        return [header]
    if stored < count:
        raise damaged(f"claims {count} images, but holds {stored}")
    if count > in_force().max_frames:
        raise too_many(f"has {count} images", in_force().max_frames)
    return [replace(header, page=k, plane=k) for k in range(count)]


def _read_plane(file: BinaryIO, page: TiffPage, plane: int) -> NDArray[Any]:
    assert page.dtype is not None
    file.seek(page.dataoffsets[0] + plane * page.nbytes)
    dtype = page.dtype.newbyteorder(page.parent.byteorder)
    return np.frombuffer(file.read(page.nbytes), dtype).reshape(page.shaped)


def _is_planar(page: TiffPage) -> bool:
    return page.shaped[0] > 1


def _finished(pixels: NDArray[Any], page: TiffPage) -> NDArray[Any]:
    """Return (H, W, samples) pixels as grey or RGB in the dtype that its header promised."""
    if page.photometric == _PALETTE:
        return _colour_map(page)[pixels[..., 0].astype(np.intp)]
    pixels = without_alpha(pixels)
    bits = page.bitspersample
    if page.photometric == _MIN_IS_WHITE:
        pixels = ~pixels if bits == 1 else (2**bits - 1) - pixels
    if bits in (2, 4):
        pixels = pixels * np.uint8(255 // (2**bits - 1))
    # FocusStack.read reports what is infinite or no number afterwards.
    with np.errstate(over="ignore", invalid="ignore"):
        return supported_dtype(pixels, "")
