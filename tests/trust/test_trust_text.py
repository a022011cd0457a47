"""Text that others wrote is text: in every page, table, document, message and terminal line."""

import csv
import io
import json
import os
import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
from playwright.sync_api import sync_playwright

import varfocus
from command_line import varfocus as command
from command_line import write_pictures
from varfocus import text
from varfocus.batch.summary import Summary
from varfocus.cli.console import Narrator, Talk, table
from varfocus.errors import InputError, MissingExtraError, ParameterError, SolverError
from varfocus.export import page as pages
from varfocus.export import report
from varfocus.export.report import Findings
from varfocus.studies.reproduce import report as studies
from varfocus.units import checked_unit

MARKUP = (
    "</script><script>document.title='owned'</script><!--<script>"
    "<img src=x onerror=\"document.title='owned'\"><svg/onload=document.title='owned'>"
    "</style></title></pre>\"'` onmouseover=document.title='owned' x=&lt;&#60;"
)
CONTROL = "\x1b]0;owned\x07\x1b[2J\r\n\x9b2J\u202egnp\u2028\u2029\x7f\udcff\u200b"
HOSTILE = "=cmd|'/c calc'!A1" + MARKUP + CONTROL
CHROMIUM = os.environ.get("VARFOCUS_CHROMIUM") or shutil.which("chromium")


def hostile_everywhere(data, keep=()):
    """Return plain data with every text in it replaced, and every key that is not `keep` kept."""
    if isinstance(data, dict):
        return {k: v if k in keep else hostile_everywhere(v, keep) for k, v in data.items()}
    if isinstance(data, list):
        return [hostile_everywhere(each, keep) for each in data]
    return HOSTILE if isinstance(data, str) else data


@pytest.fixture(scope="module")
def scene():
    return varfocus.simulate("cone", shape=(24, 30), n=5)


@pytest.fixture(scope="module")
def hostile_pages(scene, tmp_path_factory):
    """Every kind of page that varfocus writes, with hostile text in every field."""
    folder = tmp_path_factory.mktemp("pages")
    result = varfocus.reconstruct(
        scene.stack, "paper", iterations=8, degree=3, focus=[1, 2, 3, 4, 5], unit="mm"
    )
    record = hostile_everywhere(result.record("varfocus depth"), keep=("method",))
    record["command"], record["warnings"] = HOSTILE, [HOSTILE]
    record["input"]["files"] = [{"path": HOSTILE, "sha256": HOSTILE}]
    record["findings"] = {HOSTILE: HOSTILE}
    frames = [
        {
            "name": HOSTILE,
            "left_out": HOSTILE if k == 3 else None,
            "matrix": np.eye(3).tolist(),
            "motion_px": 0.5,
            "standard_error_px": 0.1,
        }
        for k in range(5)
    ]
    record["alignment"] = {
        "model": HOSTILE,
        "reason": HOSTILE,
        "reference": 0,
        "frames": frames,
        "input_size": {"width": 30, "height": 24},
    }
    found = Findings(
        record, result.depth, result.confidence, result.fused, (), result.trace, result.pixel_size
    )
    with pytest.MonkeyPatch.context() as patch:  # whether or not the viewer has been built
        patch.setattr(report, "_viewer_script", lambda: "document.body.dataset.ran = '</script>'")
        (folder / "report.html").write_bytes(report.report_page(found))
    summary = Summary(folder, 3, HOSTILE)
    facts = {"minimum": 1.0, "maximum": 2.0, "unit": HOSTILE, "frames": 3, "confidence": 0.5}
    facts |= {"width": 3, "height": 4, "warnings": [HOSTILE], "method": HOSTILE}
    # Names of folders, without the slashes that would make them paths, and not too long.
    name = "=cmd<img src=x onerror=\"document.title='owned'\">" + CONTROL
    thumbs = ["data:image/png;base64,", "data:image/png;base64,"]
    done = {"status": "done", "seconds": 1.0, "facts": facts, "thumbnails": thumbs}
    summary.add(0, name, HOSTILE, done)
    failed = {"status": "failed", "message": HOSTILE, "exit_code": 3, "attempts": 1}
    summary.add(1, name + "2", HOSTILE, failed)
    summary.write(now=True)
    blocks = [
        studies.Text(HOSTILE),
        studies.Table("table", [HOSTILE, "b"], [[HOSTILE, "-0.5"]]),
        studies.Figure("figure", png(), HOSTILE),
    ]
    studies.write([studies.Report("one", HOSTILE, blocks)], folder, HOSTILE)
    return folder


def png() -> bytes:
    from varfocus.export.images import picture

    return picture(np.zeros((3, 4), np.uint8))[1]


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: reports were NOT opened in a browser")
def test_no_page_runs_or_shows_foreign_text_as_anything_but_text(hostile_pages):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, scripts in (("report.html", 3), ("summary.html", 0), ("index.html", 0)):
            page = browser.new_page()
            complaints = []
            page.on("console", lambda said, kept=complaints: kept.append(said.text))
            page.on("dialog", lambda _: pytest.fail("a dialog opened"))
            page.goto((hostile_pages / name).as_uri())
            assert page.title() != "owned", name
            assert (
                page.locator("img[src=x], svg[onload], [onmouseover], body script ~ main").count()
                == 0
            )
            found = page.evaluate("[...document.scripts].filter(s => !s.type).length")
            assert found <= scripts, name
            assert [c for c in complaints if "Content Security Policy" in c] == [], name
            assert "onerror=" in page.evaluate("document.body.textContent"), name
            if name == "report.html":  # the policy lets its own scripts run, and no others
                data = json.loads(page.locator("#maps").text_content())
                assert data["unit"].startswith("=cmd")
                assert page.evaluate("document.body.dataset.ran")
                page.evaluate(
                    "() => { const s = document.createElement('script');"
                    "s.textContent = 'document.title = \"owned\"'; document.body.append(s); }"
                )
                assert page.title() != "owned"
            if name == "index.html":
                assert page.evaluate("document.images[0].naturalWidth") == 4
            page.close()
        browser.close()


def test_every_page_is_made_by_the_one_that_has_a_policy():
    """Nothing else in the package writes the beginning of a page, but for the private door."""
    root = Path(varfocus.__file__).parent
    makers = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if "<!doctype html>" in path.read_text(encoding="utf-8").lower()
    }
    allowed = {"export/page.py", "cli/app.py", "app/guard.py", "app/server.py"}
    assert makers <= {name.replace("/", os.sep) for name in allowed}


def test_pages_and_documents_hold_no_control_characters(hostile_pages):
    for path in hostile_pages.iterdir():
        if path.suffix in (".html", ".json"):
            content = path.read_text(encoding="utf-8").replace("\n", "")
            odd = {c for c in content if not c.isprintable()} - {"\t"}
            assert not odd, path.name


def test_tables_hold_no_formula(hostile_pages):
    for name in ("summary.csv", "table.csv"):
        rows = [*csv.reader(io.StringIO((hostile_pages / name).read_text(encoding="utf-8")))]
        cells = [cell for row in rows for cell in row]
        assert any("cmd" in cell for cell in cells)
        numbers = [cell for cell in cells if cell.startswith("-")]
        assert numbers == (["-0.5"] if name == "table.csv" else [])
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r"))]
        assert not [cell for cell in cells if "\x1b" in cell or "\u202e" in cell]


def test_json_in_a_page_reads_back_and_has_no_mark_up():
    data = {"text": HOSTILE, "list": [1.5, None, True, {"µ": "µ"}]}
    for kind in (text.as_json, text.json_in_html):
        assert json.loads(kind(data)) == data
        assert kind(data).replace("\n", "").isprintable()
    assert not set("<>&\u2028\u2029") & set(text.json_in_html(data))


@pytest.mark.parametrize("code", [*range(32), *range(127, 160), 0x202E, 0x2066, 0xFEFF, 0xDCFF])
def test_no_control_character_passes(code):
    raw = f"a{chr(code)}b"
    assert text.harmless(raw).isprintable()
    assert text.shown(raw).isprintable()
    assert table([(raw, "c")]).replace("\n", "").isprintable()
    error = InputError(raw, raw, raw)
    assert len(str(error).splitlines()) == 3
    assert all(line.isprintable() for line in str(error).splitlines())
    assert chr(code) not in text.escaped(raw) or chr(code) in "\n\t"


def test_every_line_that_is_printed_is_harmless(capsys):
    for json_too in (False, True):
        narrator = Narrator(Talk(json=json_too))
        narrator.say(HOSTILE)
        narrator.warn(HOSTILE)
        narrator.fail(HOSTILE)
        narrator.result(HOSTILE, {"name": HOSTILE})
    out, err = capsys.readouterr()
    assert all(c.isprintable() or c in "\n\t" for c in out + err)
    assert "owned" in out
    assert "owned" in err


@pytest.mark.parametrize("error", [MissingExtraError("X", "y", "z"), SolverError("a", state=3)])
def test_errors_survive_the_way_between_processes(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)


GOOD_UNITS = ["um", "µm", "mm", "Å", "mV/s", "counts", "m·s⁻¹", "deg C", "units", "10 um"]
BAD_UNITS = [MARKUP, "<b>", "a&b", 'a"b', "=a", "-a", "@a", "a\nb", "\x1b", "a" * 40, "", " ", "a<"]


def test_units_have_a_length_and_an_alphabet(scene, tmp_path):
    for unit in GOOD_UNITS:
        assert checked_unit(unit)
    for unit in [*BAD_UNITS, 3, None, b"mm", ["mm"]]:
        with pytest.raises(ParameterError, match="the unit"):
            checked_unit(unit)
        if unit is not None:
            with pytest.raises(ParameterError):
                varfocus.reconstruct(scene.frames, focus=[1, 2, 3, 4, 5], unit=unit)


def test_a_heading_with_mark_up_is_refused_before_anything_is_written(scene, tmp_path, capsys):
    frames = write_pictures(tmp_path / "frames", scene.frames)
    positions = tmp_path / "z.csv"
    positions.write_text("z (</script><script>alert`1`</script>)\n1\n2\n3\n4\n5\n")
    out = tmp_path / "out"
    done = command(capsys, "depth", frames, "-o", out, "--focus-distances", positions)
    assert done.code in (2, 3)
    assert "the unit" in done.err
    assert not out.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot be made there")
def test_hostile_names_of_files_and_folders_are_shown_escaped(scene, tmp_path, capfd):
    name = HOSTILE.replace("/", "∕")[:60] + "\x1b[2J\n\r\x9b\u202e"
    frames = write_pictures(tmp_path / name, scene.frames, prefix=name)
    out = tmp_path / f"out{name}"
    for arguments in (
        ("info", frames),
        ("info", frames, "--json"),
        ("depth", frames, "-o", out, "--method", "classic"),
        ("depth", frames, "-o", out),  # exists
        ("measure", out),
        ("export", out, "-o", out / f"{name}.png"),
        ("fuse", frames, "-o", tmp_path / f"{name}.jpg", "--json"),
        ("align", frames, "-o", tmp_path / f"{name}aligned"),
        ("depth", tmp_path / f"missing{name}", "-o", out),
        ("batch", tmp_path / name, "-o", tmp_path / f"batch{name}", "--method", "classic"),
    ):
        done = command(capfd, *arguments)
        said = done.out + done.err
        assert "Traceback" not in said
        assert all(c.isprintable() or c == "\n" for c in said), arguments[0]
        assert not [line for line in said.splitlines() if line.startswith(("\r", "gnp"))]
        if "--json" in arguments:
            json.loads(done.out)
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["input"]["files"][0]["path"].startswith(str(frames))
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "\x1b" not in page


def test_names_in_files_are_data(tmp_path, capsys):
    """Channel and image names of OME-TIFF, which the file's author chose."""
    stack = (np.random.default_rng(0).random((3, 2, 16, 16)) * 255).astype(np.uint8)
    path = tmp_path / "named.ome.tif"
    names = [MARKUP + "\x1b[2J"[1:], "b" * 5000]
    tifffile.imwrite(
        path, stack, metadata={"axes": "ZCYX", "Name": MARKUP, "Channel": {"Name": names}}
    )
    done = command(capsys, "depth", path, "-o", tmp_path / "out")
    assert done.code == 3
    assert all(c.isprintable() or c == "\n" for c in done.err)
    assert max(map(len, done.err.splitlines())) < 1500


def test_page_titles_are_text():
    made = pages.html_page(MARKUP, "", "<p>body</p>", ["let a = '</script>';"]).decode()
    assert made.count("<script>") == made.count("</script>") == 1
    assert "<img" not in made
