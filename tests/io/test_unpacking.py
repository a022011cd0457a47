"""Compressed chunks: none unpacks to more than the header promises, whatever packed it."""

import bz2
import gzip
import json
import lzma
import zipfile
import zlib

import imagecodecs
import numpy as np
import pytest
import tifffile

from varfocus.errors import TooLargeError, UnreadableFrameError
from varfocus.io import read_stack
from varfocus.io.border import RefusedError
from varfocus.io.unpacking import check_unpacked

zarr = pytest.importorskip("zarr", reason="the extra “zarr” is not installed")
numcodecs = pytest.importorskip("numcodecs")

BOMB = bytes(16 << 20)
PACKERS = {
    "gzip": numcodecs.GZip(),
    "zlib": numcodecs.Zlib(),
    "bz2": numcodecs.BZ2(),
    "lzma": numcodecs.LZMA(),
    "zstd": numcodecs.Zstd(),
    "lz4": numcodecs.LZ4(),
    "blosc": numcodecs.Blosc(),
}
V3 = {
    "gzip": zarr.codecs.GzipCodec(),
    "zstd": zarr.codecs.ZstdCodec(),
    "blosc": zarr.codecs.BloscCodec(),
}


@pytest.fixture
def pixels(rng):
    return rng.integers(0, 255, (3, 16, 18), np.uint8)


def chunks_of(store):
    marks = ("zarr.json", ".zarray", ".zattrs", ".zgroup")
    return [path for path in store.rglob("*") if path.is_file() and path.name not in marks]


def spoilt(store, content):
    for path in chunks_of(store):
        path.write_bytes(content)


@pytest.mark.parametrize("codec", PACKERS)
def test_version_2(codec, pixels, tmp_path):
    store = tmp_path / "a.zarr"
    array = zarr.create_array(
        store, shape=pixels.shape, chunks=(1, 16, 18), dtype="u1", zarr_format=2,
        compressors=PACKERS[codec],
    )  # fmt: skip
    array[:] = pixels
    assert (np.stack([*read_stack(store)]) == pixels).all()
    spoilt(store, bytes(PACKERS[codec].encode(BOMB)))
    with pytest.raises(UnreadableFrameError, match="unpacks to more than the 288 bytes"):
        read_stack(store).read(0)


@pytest.mark.parametrize("shards", [None, (3, 16, 18)])
@pytest.mark.parametrize("codec", V3)
def test_version_3_and_shards(codec, shards, pixels, tmp_path):
    store = tmp_path / "a.zarr"
    array = zarr.create_array(
        store, shape=pixels.shape, chunks=(1, 16, 18), shards=shards, dtype="u1",
        compressors=V3[codec],
    )  # fmt: skip
    array[:] = pixels
    assert (np.stack([*read_stack(store)]) == pixels).all()
    packed = bytes(PACKERS[codec].encode(BOMB))
    if shards is None:
        spoilt(store, packed)
    else:  # a shard is its chunks, then where each lies, then a checksum
        index = np.array([[0, len(packed)]] * 3, "<u8").tobytes()
        import google_crc32c

        spoilt(store, packed + index + google_crc32c.value(index).to_bytes(4, "little"))
    with pytest.raises(UnreadableFrameError, match="unpacks to more than the 288 bytes"):
        read_stack(store).read(0)


def test_what_packs_twice_is_refused(pixels, tmp_path):
    store = tmp_path / "a.zarr"
    array = zarr.create_array(
        store, shape=pixels.shape, chunks=(1, 16, 18), dtype="u1",
        compressors=[V3["gzip"], V3["zstd"]],
    )  # fmt: skip
    array[:] = pixels
    with pytest.raises(UnreadableFrameError, match="packed 2 times over"):
        read_stack(store).read(0)


def test_a_bomb_behind_an_innocent_stream_is_found():
    for codec, pack in (("gzip", gzip.compress), ("bz2", bz2.compress), ("lzma", lzma.compress)):
        check_unpacked(codec, pack(b"ab"), 2)
        for content in (pack(b"abc"), pack(b"a") + pack(BOMB), pack(b"ab") + pack(b"c")):
            with pytest.raises(RefusedError):
                check_unpacked(codec, content, 2)
    check_unpacked("zlib", zlib.compress(b"ab"), 2)
    check_unpacked("zlib", b"not packed at all", 2)  # the codec itself will say so


@pytest.mark.parametrize("n", [1, 200, 256, 300, 65_000, 66_000, 1 << 20])
def test_the_size_in_the_head_of_zstandard(n):
    content = numcodecs.Zstd().encode(bytes(n))
    check_unpacked("zstd", content, n)
    with pytest.raises(RefusedError):
        check_unpacked("zstd", content, n - 1)


@pytest.mark.parametrize("name", [".zattrs", ".zarray", "0/.zarray"])
def test_metadata_have_a_size(name, pixels, tmp_path):
    store = tmp_path / "a.zarr"
    group = zarr.open_group(store, mode="w", zarr_format=2)
    group.create_array("0", data=pixels, chunks=(1, 16, 18))
    with (store / name).open("wb") as file:
        file.truncate(4 << 30)
    with pytest.raises(TooLargeError, match="of metadata"):
        read_stack(store)


@pytest.mark.parametrize("compression", ["deflate", "lzma", "zstd", "lzw"])
def test_strips_of_tiff(compression, tmp_path):
    """They are unpacked into a buffer of the size that the header gives."""
    encode = getattr(imagecodecs, f"{compression}_encode")
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as file:
        for _ in range(3):
            file.write(
                iter([encode(BOMB)]), shape=(16, 16), dtype="u1", rowsperstrip=16,
                compression=compression, photometric="minisblack",
            )  # fmt: skip
    stack = read_stack(path)
    try:
        assert stack.read(0).shape == (16, 16)
    except UnreadableFrameError as error:
        assert "cannot be decoded" in error.received  # noqa: PT017  (either is right)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_npz_of_other_compression_is_refused(method, pixels, tmp_path):
    np.save(tmp_path / "a.npy", pixels)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.write(tmp_path / "a.npy", "a.npy")
    with pytest.raises(UnreadableFrameError, match="another compression"):
        read_stack(tmp_path / "a.npz")


def test_the_user_s_own_zarr_is_left_as_it_is(pixels, tmp_path):
    before = json.dumps(zarr.config.get("codec_pipeline"))
    zarr.create_array(tmp_path / "a.zarr", data=pixels, chunks=(1, 16, 18))
    read_stack(tmp_path / "a.zarr").read(0)
    assert json.dumps(zarr.config.get("codec_pipeline")) == before
