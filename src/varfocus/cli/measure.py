"""``varfocus measure``: roughness, profiles and step heights of a result."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from numpy.typing import NDArray

from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.errors import ParameterError
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.export.figures import profile_plot
from varfocus.export.saved import SavedResult, load_result, surface_of
from varfocus.files import read_json, why
from varfocus.params import LONGEST_SIDE
from varfocus.ranges import Range, real
from varfocus.surface.measure import (
    Profile,
    Quantity,
    Region,
    Step,
    distance_along,
    height_parameters,
    level,
    level_by_points,
    profile,
    step_height,
)
from varfocus.surface.measurements import (
    Measurements,
    Surface,
    measure_all,
    profiles_csv,
    table_csv,
)
from varfocus.text import cell


def measure(
    result: Path,
    /,
    *,
    level_degree: Annotated[int, Parameter(name="--level")] = 1,
    level_points: Annotated[tuple[str, str, str] | None, Parameter(negative=())] = None,
    region: str | None = None,
    line: str | None = None,
    width: int = 1,
    step: Annotated[tuple[str, str] | None, Parameter(negative=())] = None,
    shapes: Path | None = None,
    min_confidence: float = 0.5,
    correlation_area: float | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    talk: TalkOptions = Talk(),
) -> None:
    """Measure the surface of a result: roughness, height along a line, height of a step.

    Heights count towards the lens. Each comes with a standard error where the result knows the
    error of its depth; errors common to all pixels, such as a wrong frame distance, are not in it.

    Parameters
    ----------
    result
        Output folder of varfocus depth.
    level_degree
        What is subtracted from the surface first, fitted robustly: 0 its mean, 1 a plane, 2 a
        paraboloid, 3 and more higher polynomials. Steps are measured between parallel planes
        instead.
    level_points
        Subtract the plane through three points instead, each as x,y in pixels.
    region
        Part of the map to measure, as x,y,width,height in pixels.
    line
        Height along a line from one place to another, as x0,y0,x1,y1 in pixels; written as CSV
        and as a plot beside it.
    width
        Width in pixels across the line over which heights are averaged.
    step
        Height of the second region above the first, each as x,y,width,height.
    shapes
        Measure all that a file of named lines, steps, regions and points lists, as the page saves
        it, and write one table; the file says what is subtracted first.
    min_confidence
        Pixels of lower confidence count as unknown.
    correlation_area
        Number of neighbouring pixels whose errors are alike; by default what the size of the map
        and the noise of the stack suggest.
    output
        CSV file for --line or --shapes; by default profile.csv or measurements.csv in the result
        folder. Profiles of the lines of --shapes go into another CSV file beside it.
    overwrite
        Replace an earlier profile.
    """
    narrator = Narrator(talk)
    min_confidence = real("--min-confidence", min_confidence, Range(0.0, 1.0))
    if correlation_area is not None:
        correlation_area = real("--correlation-area", correlation_area, Range(1e-6, 1e12))
    if shapes is not None:
        if region is not None or line is not None or step is not None or level_points is not None:
            raise ParameterError(
                "received --shapes together with other places", "expected all of them in the file"
            )
        saved = load_result(result)
        surface = surface_of(saved, min_confidence, correlation_area)
        _shapes(surface, shapes, output or result / "measurements.csv", overwrite, narrator)
        return
    chosen = parse_region(region, "--region") if region else None
    # A part of a map is enough where nothing else is asked for, and may be all that fits.
    alone = chosen is not None and line is None and step is None and level_points is None
    saved = load_result(result, chosen if alone else None)
    table_path = output or result / "profile.csv"
    plot_path = table_path.with_suffix(".png")
    if line is None and output is not None:
        raise ParameterError(
            f"received --output {output} without --line", "expected a line whose heights go there"
        )
    if line is not None:
        prepare_folder(table_path.parent, [table_path.name, plot_path.name], overwrite)
    sure = saved.confidence >= min_confidence
    height = np.where(sure, saved.height, np.float32(np.nan))
    sigma = saved.uncertainty
    part = Region(0, 0, *height.shape[::-1]) if chosen is None or alone else chosen
    window = _window(height, part)
    if level_points is not None:
        corners = [_numbers(text, "--level-points", "x,y", 2) for text in level_points]
        levelled = level_by_points(height, [(x, y) for x, y in corners])[window]
    else:
        levelled = level(height[window], level_degree)
    within = None if sigma is None else sigma[window]
    if correlation_area is None:
        correlation_area = saved.correlation_area
    parameters = height_parameters(levelled, within, correlation_area)
    facts: dict[str, Any] = {
        "unit": saved.unit,
        "pixels": int(levelled.size),
        "valid_share": float(np.isfinite(levelled).mean()),
        "level": level_degree if level_points is None else list(level_points),
        "min_confidence": min_confidence,
        "correlation_area": correlation_area,
        "parameters": {name: _plain(quantity) for name, quantity in parameters.items()},
    }
    words = _roughness(saved, parameters, facts)
    if step is not None:
        regions = [parse_region(text, "--step") for text in step]
        found = step_height(height, *regions, sigma=sigma, correlation_area=correlation_area)
        facts["step"] = {
            "height": _plain(found.height),
            "tilt": found.tilt,
            "pixels": found.pixels,
        }
        words += "\n\n" + _step_words(found, saved.unit)
    if line is not None:
        x0, y0, x1, y1 = _numbers(line, "--line", "x0,y0,x1,y1", 4)
        whole = np.full(height.shape, np.nan)
        whole[window] = levelled
        along = profile(
            whole, (x0, y0), (x1, y1), width=width, sigma=sigma, correlation_area=correlation_area
        )
        distance, unit = distance_along(along, saved.pixel_size, saved.unit)
        write_atomically(table_path, _csv(along, distance, unit, saved.unit))
        write_atomically(
            plot_path, profile_plot(distance, along.height, along.error, unit, saved.unit)
        )
        facts["profile"] = {"csv": str(table_path), "plot": str(plot_path)}
        span = float(np.nanmax(along.height) - np.nanmin(along.height))
        words += f"\n\nprofile: {distance[-1]:.6g} {unit} long, heights over {span:.4g} "
        words += f"{saved.unit}\n{table([(str(table_path), 'heights'), (str(plot_path), 'plot')])}"
    if sigma is None:
        narrator.say("This result has no uncertainty.tif: no standard errors.")
    narrator.result(words, facts)


def _shapes(
    surface: Surface, shapes: Path, output: Path, overwrite: bool, narrator: Narrator
) -> None:
    """Measure what a file lists, and write the table and the profiles."""
    try:
        wanted = Measurements.from_data(read_json(shapes))
    except (OSError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise ParameterError(f"{shapes}: {error.args[0]}", *error.args[1:]) from error
        raise ParameterError(
            f"{shapes} cannot be used: {why(error)}",
            "expected a file of measurements",
        ) from error
    profiles = output.with_name(f"{output.stem}-profiles.csv")
    lines = any(shape.kind == "line" for shape in wanted.shapes)
    prepare_folder(output.parent, [output.name, *[profiles.name] * lines], overwrite)
    found = measure_all(surface, wanted)
    write_atomically(output, table_csv(found))
    files = {"csv": str(output)}
    if lines:
        write_atomically(profiles, profiles_csv(found, surface.unit))
        files["profiles"] = str(profiles)
    rows = [
        (one.shape.name, one.shape.kind, row.quantity, row.words)
        for one in found
        for row in one.rows
    ]
    for one in found:
        if one.problem:
            narrator.warn(f"{one.shape.name or one.shape.kind}: {one.problem}")
    facts = {
        "level": wanted.level.words,
        **files,
        "measurements": [
            {
                "name": one.shape.name,
                "kind": one.shape.kind,
                "values": {
                    row.quantity: _plain(row.value) | {"unit": row.unit} for row in one.rows
                },
                "problem": one.problem or None,
            }
            for one in found
        ],
    }
    words = f"{wanted.level.words} subtracted\n" + (table(rows) if rows else "nothing measured")
    narrator.result(words + "\n\n" + "\n".join(files.values()), facts)


def _roughness(saved: SavedResult, parameters: Any, facts: dict[str, Any]) -> str:
    about = {
        "Sa": "mean deviation",
        "Sq": "root mean square",
        "Sz": "highest peak to deepest valley",
        "Sp": "highest peak",
        "Sv": "deepest valley",
        "Ssk": "skewness; negative: valleys, positive: peaks",
        "Sku": "kurtosis; 3 for a Gaussian surface",
    }
    rows = [
        (name, quantity.words("" if name in ("Ssk", "Sku") else saved.unit), about[name])
        for name, quantity in parameters.items()
    ]
    form = "the plane through three points"
    if not isinstance(facts["level"], list):
        form = {0: "its mean", 1: "a plane"}.get(facts["level"], f"degree {facts['level']}")
    return (
        f"ISO 25178 height parameters, {form} subtracted; "
        f"{facts['valid_share']:.1%} of {facts['pixels']} pixels valid\n" + table(rows)
    )


def _plain(quantity: Quantity) -> dict[str, float | None]:
    """Return value and error for JSON, which has no NaN."""
    return {k: None if v is None or np.isnan(v) else v for k, v in quantity._asdict().items()}


def _step_words(step: Step, unit: str) -> str:
    return (
        f"step: {step.height.words(unit)}, the second region above the first "
        f"({step.pixels[0]} and {step.pixels[1]} pixels, parallel planes)"
    )


def _csv(along: Profile, distance: NDArray[np.float64], unit: str, height_unit: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    headings = [f"distance ({unit})", "x (pixels)", "y (pixels)", f"height ({height_unit})"]
    columns = [distance, along.x, along.y, along.height]
    if along.error is not None:
        headings.append(f"standard error ({height_unit})")
        columns.append(along.error)
    writer.writerow(map(cell, headings))
    writer.writerows([f"{value:.9g}" for value in row] for row in zip(*columns, strict=True))
    return text.getvalue().encode()


def _window(height: NDArray[Any], region: Region) -> tuple[slice, slice]:
    if not region.lies_in(height.shape):
        raise ParameterError(
            f"received --region {region}",
            f"expected one inside {height.shape[1]} × {height.shape[0]} pixels",
        )
    return region.window


def parse_region(text: str, option: str) -> Region:
    """Return the region that a text such as 10,20,300,200 stands for."""
    numbers = _numbers(text, option, "x,y,width,height", 4)
    if any(number != int(number) for number in numbers):
        raise ParameterError(f"received {option} {text}", "expected whole numbers of pixels")
    return Region(*(int(number) for number in numbers))


def _numbers(text: str, option: str, form: str, count: int) -> tuple[float, ...]:
    try:
        numbers = tuple(
            real(option, float(part), Range(-LONGEST_SIDE, LONGEST_SIDE))
            for part in text.split(",")
        )
    except ValueError:
        numbers = ()
    if len(numbers) != count:
        example = ",".join(["10", "20", "300", "20"][:count])
        raise ParameterError(
            f"received {option} {text}", f"expected {form} in pixels", f"Such as {example}."
        )
    return numbers
