"""Compressed chunks of Zarr stores: none unpacks to more than the array's shape promises.

The codecs behind Zarr allocate what a stream asks for. What that is stands in the head of Blosc,
LZ4 and most Zstandard streams; the others are unpacked once before, piece by piece, and dropped.
"""

from __future__ import annotations

import bz2
import functools
import lzma
import threading
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from varfocus.io.border import damaged

PIECE = 1 << 20
"""Bytes that are unpacked at a time."""


def check_unpacked(codec: str, content: bytes, most: int) -> None:
    """Refuse a compressed chunk that unpacks to more than it may.

    Parameters
    ----------
    codec : str
        Its name in Zarr; one that does not compress is not checked.
    content : bytes
        The chunk. What cannot be read as such is left to the codec itself to refuse.
    most : int
        Bytes that the chunk has unpacked.

    Raises
    ------
    RefusedError
        If it has more.
    """
    measure = _SIZES.get(codec)
    if measure is not None and measure(content, most) > most:
        raise damaged(f"has a chunk that unpacks to more than the {most} bytes of its pixels")


def _in_head(start: int, length: int) -> Callable[[bytes, int], int]:
    return lambda content, _: int.from_bytes(content[start : start + length], "little")


def _of_zstd(content: bytes, most: int) -> int:
    """Return the size in the head of a Zstandard frame (RFC 8878); without one, try it."""
    flags = content[4] if len(content) > 4 else 0
    single = bool(flags & 0x20)
    length = (1 if single else 0, 2, 4, 8)[flags >> 6]
    start = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    if length:
        return int.from_bytes(content[start : start + length], "little") + 256 * (length == 2)
    import imagecodecs

    try:
        imagecodecs.zstd_decode(content, out=most)  # fails where there is more
    except RuntimeError:
        return most + 1
    return most


def _unpacked(make: Callable[[], Any]) -> Callable[[bytes, int], int]:
    """Return a function that unpacks a stream, up to a size, and forgets it."""

    def size(content: bytes, most: int) -> int:
        total, unpacker, rest = 0, make(), content
        try:
            while total <= most:
                if unpacker.eof:  # several streams may follow each other
                    rest, unpacker = unpacker.unused_data, make()
                    if not rest:
                        break
                piece = unpacker.decompress(rest, PIECE)
                rest = getattr(unpacker, "unconsumed_tail", b"")
                if not piece and not rest and not unpacker.eof:
                    break
                total += len(piece)
        except (zlib.error, OSError, EOFError, lzma.LZMAError):
            pass  # damaged, which the codec will say
        return total

    return size


_SIZES: dict[str, Callable[[bytes, int], int]] = {
    "blosc": _in_head(4, 4),
    "lz4": _in_head(0, 4),
    "zstd": _of_zstd,
    "gzip": _unpacked(lambda: zlib.decompressobj(wbits=31)),
    "zlib": _unpacked(zlib.decompressobj),
    "bz2": _unpacked(bz2.BZ2Decompressor),
    "lzma": _unpacked(lzma.LZMADecompressor),
}
"""Bytes that a stream unpacks to, if that is at most so many."""


@functools.cache
def _pipeline() -> type[Any]:
    """Register a pipeline of codecs that checks every chunk first, and return it."""
    from zarr.core.codec_pipeline import BatchedCodecPipeline
    from zarr.registry import register_pipeline

    class BoundedPipeline(BatchedCodecPipeline):
        """What Zarr uses, for chunks of whole arrays and inside of shards alike."""

        async def decode_batch(self, chunks: Any) -> Any:
            chunks = list(chunks)
            codecs = [codec.to_dict()["name"] for codec in self.bytes_bytes_codecs]
            packer = getattr(self.array_bytes_codec, "compressor", None)  # of version 2
            codecs += [packer.codec_id] if packer is not None else []
            packing = [codec for codec in codecs if codec in _SIZES]
            if len(packing) > 1:
                raise damaged(f"has chunks that are packed {len(packing)} times over")
            for content, spec in chunks:
                most = spec.dtype.to_native_dtype().itemsize
                for side in spec.shape:
                    most *= side
                for codec in packing if content is not None else ():
                    check_unpacked(codec, content.to_bytes(), most)
            return await super().decode_batch(chunks)

    BoundedPipeline.__qualname__ = BoundedPipeline.__name__  # arrays that travel name it
    register_pipeline(BoundedPipeline)
    return BoundedPipeline


def __getattr__(name: str) -> Any:
    if name == "BoundedPipeline":  # made where Zarr is installed, and used
        return _pipeline()
    raise AttributeError(name)


class _Bounded:
    """The setting of the process while any thread is in a block of `bounded`."""

    def __init__(self) -> None:
        self._lock, self._inside, self._setting = threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        import zarr

        with self._lock:
            if not self._inside:
                made = _pipeline()
                path = f"{made.__module__}.{made.__qualname__}"
                self._setting.enter_context(zarr.config.set({"codec_pipeline.path": path}))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._setting.close()


_BOUNDED = _Bounded()


def bounded() -> AbstractContextManager[None]:
    """Let Zarr unpack no more than it should in the block; several threads may be in one."""
    return _BOUNDED
