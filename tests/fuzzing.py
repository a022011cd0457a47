"""Mutated files of every format, read in a guarded process: nothing but our own errors may come.

    python tests/fuzzing.py --cases 10000

Case k of a seed is always the same file: a sample of a format chosen at random, spoilt in one to
four ways. It is looked at and decoded; every fourth that is refused also goes through ``varfocus
depth``, which must say so in words, leave nothing behind and exit with 3 or 4. The process that
does so may take `MEMORY` bytes and `SECONDS` a case; if it dies, that case is a finding.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

MEMORY = 3 << 30
"""Bytes of private memory that the reading process may have: the largest frame within the default
limits is 2²⁹ pixels, and what a header claims may be allocated, though not touched."""

SECONDS = 20
"""Time for one case."""

INTERESTING = (0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 2**31 - 1, 2**31, 2**32 - 1)


def corpus(folder: Path) -> dict[str, list[bytes]]:
    """Return files of every format that can be read here, by format, as libraries write them."""
    import tifffile

    from image_samples import SAMPLES, by_tifffile, noise

    found: dict[str, list[bytes]] = {}
    for name, sample in SAMPLES.items():
        found.setdefault(name.partition("-")[0], []).append(sample.data)
    small, colour = noise((4, 11, 19), np.uint16), noise((3, 11, 19, 3))
    ome = io.BytesIO()
    tifffile.imwrite(ome, small, ome=True, metadata={"axes": "ZYX", "PhysicalSizeZ": 2.0})
    found["TIFF stack"] = [
        ome.getvalue(),
        by_tifffile(small, imagej=True, metadata={"spacing": 2.0, "unit": "um"}),
        by_tifffile(small, photometric="minisblack", compression="lzw"),
        by_tifffile(colour, photometric="rgb", tile=(16, 16), compression="deflate"),
    ]
    for array in (small, colour, small.astype(np.float32)):
        file = io.BytesIO()
        np.save(file, array)
        found.setdefault("NPY", []).append(file.getvalue())
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, frames=small, focus=np.arange(4.0))
        found.setdefault("NPZ", []).append(file.getvalue())
    found |= _of_extras(folder)
    return found


def _of_extras(folder: Path) -> dict[str, list[bytes]]:
    """Return files of the formats whose libraries are extras, if they are installed."""
    from extra_samples import patches, write_czi, write_dng, write_lif, write_video
    from image_samples import noise

    found: dict[str, list[bytes]] = {}
    path = folder / "sample"
    with contextlib.suppress(ImportError):
        import rawpy  # noqa: F401

        write_dng(path, patches())
        found["RAW"] = [path.read_bytes()]
    with contextlib.suppress(ImportError):
        import av  # noqa: F401

        frames = noise((5, 16, 24))
        for codec, container in (("ffv1", "matroska"), ("png", "avi"), ("mpeg4", "mp4")):
            pixels = {"ffv1": "gray", "png": "gray", "mpeg4": "yuv420p"}[codec]
            write_video(path, frames, codec, pixels, container)
            found.setdefault("video", []).append(path.read_bytes())

    planes = noise((1, 4, 1, 9, 13), np.uint16)
    with contextlib.suppress(ImportError):
        import liffile  # noqa: F401

        found["LIF"] = [write_lif(path, {"sample": planes}).read_bytes()]
    with contextlib.suppress(ImportError):
        import czifile  # noqa: F401

        blocks = [
            ([("X", 0, 13), ("Y", 0, 9), ("Z", z, 1), ("C", 0, 1), ("T", 0, 1)], planes[0, z, 0])
            for z in range(4)
        ]
        found["CZI"] = [write_czi(path, blocks, 1).read_bytes()]
    path.unlink(missing_ok=True)
    return found


def mutated(files: dict[str, list[bytes]], seed: int, k: int) -> tuple[str, bytes]:
    """Return the format and the content of case `k`."""
    rng = np.random.default_rng((seed, k))
    kind = str(rng.choice(sorted(files)))
    samples = files[kind]
    data = bytearray(samples[rng.integers(len(samples))])
    for _ in range(rng.integers(1, 5)):
        _spoil(data, samples, rng)
    if kind == "PNG" and rng.random() < 0.7:
        return kind, _mended(bytes(data))
    return kind, bytes(data)


def _mended(data: bytes) -> bytes:
    """Return a PNG with checksums that agree, or hardly anything would get past them."""
    parts, at = [data[:8]], 8
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        chunk = data[at + 4 : at + 8 + length]
        parts += [data[at : at + 4], chunk, zlib.crc32(chunk).to_bytes(4, "big")]
        at += 12 + length
    return b"".join(parts)


def _spoil(data: bytearray, samples: list[bytes], rng: np.random.Generator) -> None:
    # Half of the mutations go for the first bytes, where they do more harm.
    reach = len(data) if rng.random() < 0.5 else min(len(data), 400)
    at = int(rng.integers(max(reach, 1)))
    length = int(rng.integers(1, 65))
    way = rng.integers(9)
    if way == 0:
        data[at : at + 1] = bytes((rng.integers(256),))
    elif way == 1 and at < len(data):
        data[at] ^= 1 << int(rng.integers(8))
    elif way in (2, 3):
        size = int(rng.choice((1, 2, 4, 8)))
        value = int(rng.choice(INTERESTING)) % 2 ** (8 * size)
        data[at : at + size] = value.to_bytes(size, "little" if rng.random() < 0.5 else "big")
    elif way == 4:
        del data[at:]
    elif way == 5:
        del data[at : at + length]
    elif way == 6:
        data[at:at] = data[at : at + length]
    elif way == 7:
        data[at : at + length] = rng.integers(0, 256, length, dtype=np.uint8).tobytes()
    else:
        other = samples[rng.integers(len(samples))]
        start = int(rng.integers(len(other)))
        data[at : at + length] = other[start : start + length]


# The guarded process


def read_case(path: Path) -> str:
    """Look at a file and decode it; return "read" or the class of our error."""
    from varfocus.errors import InputError, TooLargeError, UsageError
    from varfocus.io.frames import probe_files

    try:
        for frame in probe_files([path]).frames:
            pixels = frame.read()
            assert (pixels.shape, pixels.dtype) == (frame.shape, frame.dtype)
    except (InputError, TooLargeError, UsageError) as error:
        refusal = error
    else:
        return "read"
    assert str(path) in refusal.received, refusal
    assert refusal.expected, refusal
    return type(refusal).__name__


def command_case(path: Path, good: list[Path], out: Path) -> None:
    """Give a refused file to ``varfocus depth``: words, the right code, nothing left behind."""
    from varfocus.cli import main

    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()) as printed:
        code = main(["depth", *map(str, good), str(path), "-o", str(out), "-q"])
    assert code in (2, 3, 4), (code, said.getvalue())
    assert "Traceback" not in said.getvalue(), said.getvalue()
    assert "error: " in said.getvalue(), said.getvalue()
    assert printed.getvalue() == ""
    assert not out.exists() or not list(out.iterdir()), list(out.iterdir())


def serve(seed: int, start: int, stop: int) -> None:
    """Work through cases and print what became of each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = corpus(folder)
        good = _good_frames(folder)

        def one(k: int) -> tuple[str, str]:
            kind, data = mutated(files, seed, k)
            path = folder / "case"
            path.write_bytes(data)
            outcome = read_case(path)
            if outcome != "read" and k % 4 == 0:
                alone = kind in ("TIFF stack", "NPY", "NPZ", "video", "LIF", "CZI")
                command_case(path, [] if alone else good, folder / "out")
                kind += " by command"
            return kind, outcome

        work_through(start, stop, one)


def work_through(
    start: int, stop: int, one: Callable[[int], tuple[str, str]], seconds: int = SECONDS
) -> None:
    """Do cases in this process, which may take so much memory and time, and print the outcomes."""
    ceiling = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, ceiling))

    def too_long(*_: object) -> None:
        raise BaseException(f"took longer than {seconds} s")

    signal.signal(signal.SIGALRM, too_long)
    for k in range(start, stop):
        signal.alarm(seconds)
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # `print` may be a parameter
                kind, outcome = one(k)
        except BaseException as error:
            kind, outcome = "?", "FINDING " + "".join(traceback.format_exception(error))[-1500:]
        signal.alarm(0)
        print(json.dumps([k, kind, outcome]), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps([stop, "peak", peak]), flush=True)


def _good_frames(folder: Path) -> list[Path]:
    from image_samples import SAMPLES

    paths = [folder / f"good{k}.png" for k in range(2)]
    for path in paths:
        path.write_bytes(SAMPLES["PNG-rgb8"].data)
    return paths


# The one who starts it


@dataclass
class Report:
    """What became of all cases."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: dict[int, str] = field(default_factory=dict)
    peak: int = 0

    @property
    def cases(self) -> int:
        """How many were tried."""
        return sum(self.counts.values())


def fuzz(cases: int, seed: int = 0, start: int = 0, script: str = __file__) -> Report:
    """Try cases `start` to `start + cases` of a seed, in processes of a script that may die."""
    report = Report()
    at, stop = start, start + cases
    while at < stop:
        command = [sys.executable, script, "--serve", str(seed), str(at), str(stop)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                k, kind, outcome = json.loads(line)
                if kind == "peak":
                    report.peak = max(report.peak, outcome)
                    continue
                at = k + 1
                report.counts[kind, outcome.split("\n")[0][:40]] += 1
                if outcome.startswith("FINDING"):
                    report.findings[k] = outcome
            words = process.stderr.read().decode(errors="replace")[-1500:]
        if process.returncode:
            report.counts["?", "FINDING"] += 1
            report.findings[at] = f"the process ended with {process.returncode}: {words}"
            at += 1
    return report


def main(
    cases: int = 10_000,
    script: str = __file__,
    work: Callable[[int, int, int], None] = serve,
    about: str | None = __doc__,
) -> int:
    """Try many cases, and say what came of them."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--cases", type=int, default=cases)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--serve", type=int, nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        work(*given.serve)
        return 0
    report = fuzz(given.cases, given.seed, given.start, script)
    for (kind, outcome), n in sorted(report.counts.items()):
        print(f"{n:7d}  {kind:24} {outcome}")
    for k, words in report.findings.items():
        print(f"\ncase {k} of seed {given.seed}: {words}")
    megabytes = report.peak >> 20
    print(f"{report.cases} cases, {len(report.findings)} findings, peak memory {megabytes} MB")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
