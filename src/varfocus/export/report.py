"""``report.html``: one page that describes and shows what a run did; it opens offline."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.canvas.halving import sampled
from varfocus.export.charts import Series, chart, ticks
from varfocus.export.direction import direction_in_words
from varfocus.export.evidence import Witness
from varfocus.export.figures import DEPTH_COLOURS, colour_range
from varfocus.export.images import eight_bit
from varfocus.export.page import fact_cells, html_page
from varfocus.files import resolved
from varfocus.minimise import Trace
from varfocus.text import escaped, json_in_html
from varfocus.units import METRES, PixelSize

PHOTO_SIDE = 1600
"""Longest side in pixels of the all-in-focus image in the report."""

MAP_SIDE = 900
"""Longest side in pixels of the depth and confidence maps in the report."""

VIEWER_SIDE = 640
"""Longest side in pixels of the maps in the report's viewer."""

LISTED_FRAMES = 400
"""Frames beyond this many are only counted."""

LEAST_TRACE = 5
"""Fewer reported iterations make no curve."""

SCRIPT = """
const mix = document.getElementById("mix"), over = document.getElementById("over");
if (mix) {
  over.src = document.getElementById("depth").src;
  mix.oninput = () => over.parentElement.style.setProperty("--mix", mix.value);
}
for (const button of document.querySelectorAll(".code button"))
  button.onclick = () => navigator.clipboard.writeText(button.previousElementSibling.textContent)
    .then(() => { button.textContent = "Copied"; });
"""


@dataclass(frozen=True)
class Findings:
    """What a report shows.

    Attributes
    ----------
    record : dict
        What run.json says.
    depth, confidence : ndarray of shape (H, W), float32
        Maps.
    fused : ndarray of shape (H, W) or (H, W, 3)
        All-in-focus image.
    witnesses : sequence of Witness
        Contrast curves at chosen pixels.
    trace : Trace or None
        How the minimisation went.
    pixel_size : PixelSize or None
        Size of a pixel.
    """

    record: dict[str, Any]
    depth: NDArray[np.float32]
    confidence: NDArray[np.float32]
    fused: NDArray[Any]
    witnesses: Sequence[Witness]
    trace: Trace | None
    pixel_size: PixelSize | None


def report_page(found: Findings) -> bytes:
    """Return the report as one self-contained HTML file.

    Parameters
    ----------
    found : Findings
        What it shows.

    Returns
    -------
    bytes
        The file.
    """
    record = found.record
    title = _title(record)
    style = files("varfocus.export").joinpath("report.css").read_text(encoding="utf-8")
    script = _viewer_script()
    sections = [
        _viewer(found) if script else "",
        _pictures(found),
        _curves(found),
        _alignment(record),
        _convergence(found.trace),
        _settings(record),
        _repeat(record),
    ]
    body = f"""<header>
<div class="brand">varfocus</div>
<h1>{escaped(title)}</h1>
<p class="lead">{_summary(found)}</p>
{_facts(found)}
{_warnings(record)}
</header>
<main>
{"".join(sections)}
</main>
<footer>Made by varfocus {escaped(record.get("varfocus", ""))}. The full record is in run.json; the
maps are depth.tif and confidence.tif, 32-bit, at full size.</footer>"""
    return html_page(f"{title} · varfocus", style, body, [SCRIPT, *filter(None, [script])])


def _title(record: dict[str, Any]) -> str:
    """Return a name for the stack: its folder, or its one file."""
    paths = [Path(entry["path"]) for entry in record["input"]["files"]]
    if len(paths) == 1:
        return paths[0].name
    if paths:
        parent = resolved(paths[0]).parent
        generic = parent.name.lower() in ("frames", "images", "shots")
        return f"{parent.parent.name}/{parent.name}" if generic else parent.name
    return "Focus stack"


def _sure(found: Findings) -> float:
    """Return the share of sure pixels: the maps at hand may be coarser than the result."""
    return float(found.record["confidence"]["sure"])


def _summary(found: Findings) -> str:
    record, about = found.record, found.record["input"]
    colour = "colour" if about["channels"] == 3 else "grey"
    method = {
        "robust": "by matching contrast peaks with templates learnt from the stack",
        "paper": "by the variational method of Moeller et al.",
        "classic": "by the windowed maximum of contrast",
    }[record["parameters"]["method"]]
    words = [
        f"{len(about['frames'])} {colour} frames became a depth map of "
        f"{found.depth.shape[1]} × {found.depth.shape[0]} pixels, {method.rstrip('.')}."
    ]
    depth = record["depth"]
    if depth["minimum"] is not None:
        unit = depth["unit"]
        counted = "frames, counted from 0" if unit == "frames" else unit
        words.append(
            f"It runs from {depth['minimum']:.4g} to {depth['maximum']:.4g} {counted}, and "
            f"{depth['direction']}."
        )
    words += filter(None, [direction_in_words(record.get("findings"))])
    sure = _sure(found)
    verdict = (
        "Nearly all of it can be relied on"
        if sure >= 0.95
        else "Most of it can be relied on"
        if sure >= 0.7
        else "Parts of it can be relied on"
        if sure >= 0.3
        else "Little of it can be relied on"
    )
    words.append(
        f"{verdict}: {sure:.0%} of the pixels that count are right to within one frame with a "
        "probability of at least 90%."
    )
    undetermined = record.get("undetermined_pixels")
    if undetermined:
        share = undetermined / found.depth.size
        words.append(
            f"Nothing in the stack determines {share:.1%} of the pixels; "
            + (
                "they are marked unknown."
                if record["parameters"].get("unknown") == "nan"
                else "they continue their neighbours."
            )
        )
    return escaped(" ".join(words))


def _facts(found: Findings) -> str:
    record = found.record
    unit = record["depth"]["unit"]
    entries = [
        ("Frames", f"{len(record['input']['frames'])}", ""),
        ("Size", f"{found.depth.shape[1]} × {found.depth.shape[0]}", "px"),
    ]
    low, high = record["depth"]["minimum"], record["depth"]["maximum"]
    if low is not None:
        entries.append(("Depth range", f"{high - low:.4g}", unit))
    entries.append(("Sure pixels", f"{_sure(found):.0%}", ""))
    if record.get("uncertainty"):
        entries.append(("Typical error", f"± {record['uncertainty']['median']:.2g}", unit))
    if found.pixel_size is not None:
        entries.append(("Pixel", str(found.pixel_size), ""))
    if record["seconds"] is not None:
        entries.append(("Time", f"{record['seconds']:.1f}", "s"))
    return fact_cells(entries)


def _warnings(record: dict[str, Any]) -> str:
    if not record["warnings"]:
        return ""
    items = "".join(f"<li>{escaped(text)}</li>" for text in record["warnings"])
    return f'<div class="warnings" role="note"><b>Worth knowing</b><ul>{items}</ul></div>'


def _viewer_script() -> str:
    """Return the page's viewer as a script, or nothing where it was not built."""
    path = files("varfocus.export").joinpath("viewer", "viewer.js")
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _viewer(found: Findings) -> str:
    """Return the maps as data, and the place where the viewer shows them."""
    from matplotlib import colormaps

    step = -(-max(found.depth.shape) // VIEWER_SIDE)
    depth, confidence = sampled(found.depth, step), sampled(found.confidence, step)
    known = np.isfinite(depth)
    low, high = (float(depth[known].min()), float(depth[known].max())) if known.any() else (0, 0)
    size = (high - low) / 65534 or 1.0
    levels = np.where(known, np.rint((np.nan_to_num(depth) - low) / size) + 1, 0)
    unit = found.record["depth"]["unit"]
    limits = colour_range([found.depth])
    proportion = None
    if found.pixel_size is not None and unit in METRES:
        width = found.pixel_size.to(unit).x * found.depth.shape[1]
        proportion = (limits[1] - limits[0]) / width
    palettes = {
        name: _base64(np.rint(255 * colormaps[name](np.linspace(0, 1, 256))[:, :3]).astype("u1"))
        for name in (DEPTH_COLOURS, "gray")
    }
    data = {
        "width": found.depth.shape[1],
        "height": found.depth.shape[0],
        "columns": depth.shape[1],
        "rows": depth.shape[0],
        "depth": _base64(levels.astype("<u2")),
        "low": low,
        "step": size,
        "confidence": _base64(np.rint(255 * confidence).astype("u1")),
        "range": limits,
        "unit": unit,
        "proportion": proportion,
        "palettes": palettes,
    }
    return f"""
<section id="explore" hidden>
<h2>Explore</h2>
<div id="viewer" class="card viewer"></div>
<p class="soft">Wheel and drag to zoom and move; both maps move together.</p>
</section>
<script type="application/json" id="maps">{json_in_html(data)}</script>
"""


def _base64(values: NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode()


def _pictures(found: Findings) -> str:
    unit = found.record["depth"]["unit"]
    low, high = colour_range([found.depth])
    pins = _pins(found)
    share = 1.0 - float(np.isfinite(found.depth).mean())
    blank = f" {share:.1%} of the pixels are unknown and left blank." if share else ""
    return f"""
<h2>Everything in focus</h2>
<figure class="card">
<div class="picture"><img id="photo" src="{photo(found.fused)}" \
alt="All-in-focus image of the scene">
<img id="over" class="over" alt="" src="data:,">{pins}</div>
<div class="mix"><label for="mix">Photograph</label>
<input id="mix" type="range" min="0" max="1" step="0.01" value="0"><span>Depth</span></div>
<figcaption>Every pixel taken from the frames in which it is sharp. The numbers mark the pixels
whose contrast curves are shown below.</figcaption>
</figure>
<div class="pair">
<figure class="card">
<div class="picture"><img id="depth" src="{coloured(found.depth, (low, high), DEPTH_COLOURS)}" \
alt="Depth map in colours, from {low:.4g} to {high:.4g} {escaped(unit)}"></div>
{_colour_bar(DEPTH_COLOURS, low, high, unit)}
<figcaption><b>Depth.</b> It {escaped(found.record["depth"]["direction"])}.{blank}</figcaption>
</figure>
<figure class="card">
<div class="picture"><img src="{coloured(found.confidence, (0.0, 1.0), "gray")}" \
alt="Confidence map, black for none and white for certainty; \
{_sure(found):.0%} of the pixels that count are above 0.9"></div>
{_colour_bar("gray", 0.0, 1.0, "")}
<figcaption><b>Confidence.</b> Estimated probability that the depth is right to within one frame.
Dark seams at the edges of objects are normal: blur leaks there.</figcaption>
</figure>
</div>
"""


def _pins(found: Findings) -> str:
    height, width = found.depth.shape
    size = max(width, height) / 1000.0
    marks = "".join(
        f'<g class="pin" transform="translate({w.place.x + 0.5:.1f} {w.place.y + 0.5:.1f}) '
        f'scale({size:.3f})"><circle r="11"/><text>{number}</text></g>'
        for number, w in enumerate(found.witnesses, start=1)
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" aria-hidden="true" '
        f'preserveAspectRatio="xMidYMid meet">{marks}</svg>'
    )


ROLES = {
    "sure": "A sure pixel.",
    "typical": "A typical pixel.",
    "doubtful": "The least sure, away from edges.",
    "at a depth jump": "At a depth jump.",
}


def _curves(found: Findings) -> str:
    if not found.witnesses:
        return ""
    cards = []
    for number, witness in enumerate(found.witnesses, start=1):
        x, y = witness.place.x, witness.place.y
        confidence = float(found.confidence[y, x])
        alt = (
            f"Contrast of pixel {x}, {y} over {len(witness.contrast)} frames; highest in frame "
            f"{int(witness.contrast.argmax())}, chosen depth at frame {witness.index:.2f}"
        )
        scale = float(witness.contrast.max()) or 1.0
        series = [Series(np.arange(len(witness.contrast)), witness.contrast / scale, "dots", 1)]
        if witness.model is not None:
            series.insert(0, Series(witness.model[:, 0], witness.model[:, 1] / scale, "line", 3))
        plot = chart(
            series, x_label="frame", y_label="contrast", alt=alt, mark=witness.index, zero=True
        )
        cards.append(
            f'<figure class="card"><div class="plot">{plot}</div><figcaption><b>{number}. '
            f"{escaped(ROLES[witness.place.role])}</b> Column {x}, row {y}: "
            f"frame {witness.index:.2f}, confidence {confidence:.2f}.</figcaption></figure>"
        )
    model = {
        "paper": "the polynomial it is explained by",
        "robust": "the peak it is explained by, of the shape learnt from the stack",
    }.get(found.record["parameters"]["method"])
    key = '<span class="key" style="background:var(--line-1)"></span>contrast in each frame'
    if model:
        key += f', <span class="key" style="background:var(--line-3)"></span>{model}'
    key += ', <span class="key" style="background:var(--mark)"></span>the depth that was chosen'
    return f"""
<h2>What the depth rests on</h2>
<p class="soft">A pixel is in focus where its contrast peaks. A single clear peak makes a sure
depth; a flat or double-humped curve leaves the decision to the neighbours. {key}.</p>
<div class="four">{"".join(cards)}</div>
"""


def _alignment(record: dict[str, Any]) -> str:
    """Plot how far each frame was found from the reference, how sure that is, and what was done.

    ``record["alignment"]`` has ``model``, ``reason``, ``input_size``, the number of the
    ``reference`` and, for each of its ``frames``, the ``matrix`` from pixels of the reference to
    pixels of the frame, ``motion_px`` and ``standard_error_px`` where it was looked at, and why it
    was ``left_out``, if it was.
    """
    about = record.get("alignment") or {}
    frames = about.get("frames", [])
    used = [k for k, frame in enumerate(frames) if not frame["left_out"]]
    cards = _motion_card(frames, used)
    if about.get("model", "none") == "none":
        if not cards:
            return ""
        words = escaped(f"Frames left in place: {about['reason']}.")
    else:
        cards += _map_cards(about, used)
        lost = [
            f"{frame['name']} was left out: {frame['left_out']}."
            for frame in frames
            if frame["left_out"]
        ]
        to = frames[about["reference"]]["name"]
        said = f"Frames were brought to {to} (map: {about['model']}): {about['reason']}."
        words = escaped(" ".join([said, *lost]))
    return f'<h2>Alignment</h2><p class="soft">{words}</p><div class="pair">{cards}</div>'


def _motion_card(frames: list[dict[str, Any]], used: list[int]) -> str:
    """Plot the motion that was found, and twice its standard error to either side."""
    told = [k for k in used if frames[k].get("motion_px") is not None]
    if not told:
        return ""
    motion = np.array([frames[k]["motion_px"] for k in told], np.float64)
    error = np.array([frames[k].get("standard_error_px") or np.nan for k in told], np.float64)
    either = np.where(np.isnan(error), 0.0, 2.0 * error)
    series = [
        Series(told, np.maximum(motion - either, 0.0), "faint", 2),
        Series(told, motion + either, "faint", 2),
        Series(told, motion, "dots", 1),
    ]
    title = "Motion found"
    words = "of each frame against the reference, between lines two standard errors away"
    return _plot_card(series, "pixels", title, words)


def _map_cards(about: dict[str, Any], used: list[int]) -> str:
    """Plot by how much the maps in use displace and scale."""
    width, height = about["input_size"]["width"], about["input_size"]["height"]
    matrices = np.array([about["frames"][k]["matrix"] for k in used], np.float64)
    corner = np.array([[0, 0, 1], [width, 0, 1], [0, height, 1], [width, height, 1]], float).T
    moved = matrices @ corner
    moved = moved[:, :2] / moved[:, 2:]
    shift = np.linalg.norm(moved - corner[None, :2], axis=1).max(axis=1)
    scale = 100.0 * (np.sqrt(np.abs(np.linalg.det(matrices[:, :2, :2]))) - 1.0)
    plots = (
        (shift, "pixels", "Displacement", "of the corner of each frame that was moved farthest"),
        (scale, "percent", "Focus breathing", "how much larger the scene is in each frame"),
    )
    return "".join(
        _plot_card(
            [Series(used, values, "faint", 1), Series(used, values, "dots", 1)], label, title, words
        )
        for values, label, title, words in plots
    )


def _plot_card(series: list[Series], label: str, title: str, words: str) -> str:
    plot = chart(
        series,
        x_label="frame",
        y_label=label,
        alt=f"{title}: {words}, in {label}, over the frames",
    )
    return (
        f'<figure class="card"><div class="plot">{plot}</div>'
        f"<figcaption><b>{title}</b>: {words}, in {label}.</figcaption></figure>"
    )


def _convergence(trace: Trace | None) -> str:
    if trace is None or len(trace.energy) < LEAST_TRACE:
        return ""
    steps = np.array([0, *trace.iterations])
    energy = np.array([trace.start_energy, *trace.energy])
    gain = 100.0 * (energy - energy.min()) / max(abs(energy.min()), 1e-300)
    change = np.log10(np.maximum(trace.change, 1e-300))
    first = chart(
        [Series(steps, gain, "line", 1)],
        x_label="iteration",
        y_label="above the best (%)",
        alt=f"Energy over {steps[-1]} iterations, falling to its final value",
    )
    second = chart(
        [Series(trace.iterations, change, "line", 2)],
        x_label="iteration",
        y_label="log₁₀ change",
        alt="Squared change of the solution per iteration, logarithmic",
    )
    return f"""
<h2>Convergence</h2>
<div class="pair">
<figure class="card"><div class="plot">{first}</div><figcaption><b>Energy</b> above the lowest one
found, in percent; the last value is {_plain(float(energy[-1]))}.</figcaption></figure>
<figure class="card"><div class="plot">{second}</div><figcaption><b>Change</b> of the solution per
iteration, squared, as a power of ten.</figcaption></figure>
</div>
"""


def _settings(record: dict[str, Any]) -> str:
    about = record["input"]
    focus, names = about["focus"], about["frames"]
    rows = _rows(record["parameters"])
    learnt = _rows(record.get("findings") or {})
    if learnt:
        learnt = f"<details><summary>Learnt from the stack</summary><table>{learnt}</table>"
        learnt += "</details>"
    listed = "".join(
        f"<tr><td>{k}</td><td>{escaped(name)}</td><td>"
        + ("" if focus is None else f"{focus[k]:.6g} {escaped(about['unit'])}")
        + "</td></tr>"
        for k, name in enumerate(names[:LISTED_FRAMES])
    )
    more = len(names) - LISTED_FRAMES
    rest = f"<p class='soft'>… and {more} more, in run.json.</p>" if more > 0 else ""
    return f"""
<h2>Settings</h2>
<details open><summary>Parameters</summary><table>{rows}</table></details>
{learnt}
<details><summary>{len(names)} frames, in this order</summary>
<table>{listed}</table>{rest}</details>
"""


def _rows(values: dict[str, Any]) -> str:
    return "".join(
        f"<tr><th scope='row'>{escaped(name.replace('_', ' '))}</th>"
        f"<td>{escaped(_plain(value))}</td></tr>"
        for name, value in values.items()
    )


def _repeat(record: dict[str, Any]) -> str:
    command = record.get("command") or _python(record)
    return f"""
<h2>Do it again</h2>
<p class="soft">The same frames and parameters give the same result.</p>
<div class="code card"><pre>{escaped(command)}</pre><button type="button">Copy</button></div>
"""


def _python(record: dict[str, Any]) -> str:
    parameters = ", ".join(f"{k}={v!r}" for k, v in record["parameters"].items())
    return f"varfocus.reconstruct(stack, {parameters})"


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}".replace("-", "−")
    if isinstance(value, list):
        return ", ".join(_plain(v) for v in value)
    return "automatic" if value is None else str(value)


def photo(image: NDArray[Any], side: int = PHOTO_SIDE) -> str:
    """Return a picture as a JPEG of at most this many pixels a side, as a data address."""
    from PIL import Image

    picture = Image.fromarray(eight_bit(image))
    picture.thumbnail((side, side), reducing_gap=2.0)
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=84)
    return _uri("jpeg", file.getvalue())


def coloured(
    image: NDArray[np.float32], limits: tuple[float, float], colours: str, side: int = MAP_SIDE
) -> str:
    """Return a map as a PNG with the colours in its palette, unknown pixels transparent."""
    from matplotlib import colormaps
    from PIL import Image

    small = sampled(image, -(-max(image.shape) // side))
    share = (small - limits[0]) / (limits[1] - limits[0])
    known = np.isfinite(share)
    level = np.where(known, np.clip(np.nan_to_num(share), 0, 1) * 254 + 0.5, 255).astype(np.uint8)
    picture = Image.fromarray(level).convert("P")
    palette = colormaps[colours](np.linspace(0, 1, 255))[:, :3]
    picture.putpalette(np.rint(255 * palette).astype(np.uint8).tobytes() + b"\0\0\0")
    file = io.BytesIO()
    picture.save(file, "PNG", transparency=255)
    return _uri("png", file.getvalue())


def _colour_bar(colours: str, low: float, high: float, unit: str) -> str:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    stops = ", ".join(to_hex(c) for c in colormaps[colours](np.linspace(0, 1, 12)))
    marks = ticks(low, high, 6)
    places = [f"{100 * (t - low) / (high - low):.2f}%" for t in marks]
    # Moved to the left by the same share of their own width, labels stay above the bar.
    labels = "".join(
        f'<span style="left:{place};transform:translateX(-{place})">{t:.4g}'
        + (f" {escaped(unit)}" if k == len(marks) - 1 and unit else "")
        + "</span>"
        for k, (t, place) in enumerate(zip(marks, places, strict=True))
    )
    return (
        f'<div class="bar" aria-hidden="true"><i style="background:linear-gradient(to right, '
        f'{stops})"></i><div class="ticks">{labels}</div></div>'
    )


def _uri(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
