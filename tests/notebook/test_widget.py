"""The viewer in a notebook cell: Python's half by its messages, the other in a real browser."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import threading

import numpy as np
import pytest
from PIL import Image

from varfocus.errors import MissingExtraError, ParameterError
from varfocus.notebook import widget
from varfocus.simulation import simulate

SCREENSHOTS = os.environ.get("VARFOCUS_SCREENSHOTS")

pytest.importorskip("anywidget", reason="needs varfocus[notebook]")


@pytest.fixture
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api")
    path = os.environ.get("VARFOCUS_CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("Chromium is not installed; VARFOCUS_CHROMIUM may name it")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def view(monkeypatch):
    made = widget(simulate("cone", shape=(40, 56), n=7).stack)
    made.sent = []
    monkeypatch.setattr(
        made, "send", lambda content, buffers=None: made.sent.append((content, buffers))
    )
    return made


def ask(view, **words):
    view.sent.clear()
    view.hear(view, words, [])
    return view.sent[-1] if view.sent else None


def picture(answer):
    content, (data,) = answer
    assert content["kind"] == "picture"
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image)


def test_a_frame_is_sent_as_a_picture(view):
    answer = ask(view, want="frame", number=3, id=9)
    assert answer[0] | {"legend": None} == {
        "kind": "picture", "id": 9, "width": 56, "height": 40, "legend": None, "type": "image/jpeg"
    }  # fmt: skip
    difference = picture(answer)[..., 0].astype(int) - view.stack.read(3)
    assert np.abs(difference).mean() < 6  # JPEG


def test_before_a_run_there_is_nothing_to_probe(view):
    assert ask(view, want="curve", x=3, y=4) is None
    assert ask(view, want="map", name="depth") is None


def test_a_run_makes_maps_and_curves(view):
    view.run("classic", window=5)
    assert view.state["maps"] == ["fused", "depth", "confidence"]
    assert not view.state["busy"]
    depth = picture(ask(view, want="map", name="depth", id=1))
    assert depth.shape == (40, 56, 4)
    assert (depth[..., 3] == 255).all()
    curve, _ = ask(view, want="curve", x=10, y=20)
    np.testing.assert_allclose(curve["focus"], view.stack.focus, rtol=1e-6)
    assert curve["chosen"] == pytest.approx(view.result.depth[20, 10], rel=1e-5)
    assert curve["values"]["uncertainty"] is None
    assert ask(view, want="map", name="products") is None


def test_a_run_in_the_background_reports_and_ends(view):
    seen = []
    view.observe(lambda change: seen.append(change.new.get("stage")), "state")
    ask(view, want="run", method="paper", parameters={"alpha": 0.25})
    view.join()
    assert view.result.params.solve.alpha == 0.25
    assert {"fusing"} & set(seen) or any(seen)


def test_a_run_can_be_cancelled(view, monkeypatch):
    began, go = threading.Event(), threading.Event()
    read = type(view.stack.frames[0]).read

    def slow(frame):
        began.set()
        go.wait(20)
        return read(frame)

    monkeypatch.setattr(type(view.stack.frames[0]), "read", slow)
    ask(view, want="run", method="auto", parameters={})
    assert began.wait(20)
    ask(view, want="cancel")
    go.set()
    view.join()
    assert view.result is None
    assert not view.state["busy"]
    assert "error" not in view.state


def test_what_is_wrong_is_said_in_the_cell(view):
    ask(view, want="run", method="auto", parameters={"smoothness": -1})
    assert "smoothness" in view.state["error"]
    with pytest.raises(ParameterError):
        view.run(smoothness=-1)


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "varfocus.notebook.viewer", None)
    with pytest.raises(MissingExtraError, match=re.escape("varfocus[notebook]")):
        widget(np.zeros((3, 4, 5), np.uint8))


PAGE = """<!doctype html><meta charset=utf-8><style>STYLE</style>
<div id=cell style="width:900px"></div>
<script type=module>
const traits = TRAITS, heard = {};
window.sent = [];
window.model = {
  get: (name) => traits[name],
  send: (message) => window.sent.push(message),
  on: (name, call) => { heard[name] = call; }, off: () => {},
};
window.answer = (message, base64) => heard["msg:custom"](message,
  base64 ? [new DataView(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer)] : []);
window.change = (state) => { traits.state = state; heard["change:state"](); };
const { default: made } = await import("data:text/javascript;base64,SCRIPT");
made.render({ model: window.model, el: document.getElementById("cell") });
window.ready = true;
</script>"""


def in_browser(view):
    script = base64.b64encode(view._esm.encode()).decode()
    traits = json.dumps({"about": view.about, "state": view.state}).replace("</", "<\\/")
    return PAGE.replace("STYLE", view._css).replace("TRAITS", traits).replace("SCRIPT", script)


def test_the_cell_in_a_browser(view, chromium):
    page = chromium.new_page(viewport={"width": 960, "height": 640})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content(in_browser(view))
    page.wait_for_function("window.ready")

    def deliver(message):
        content, buffers = ask(view, **message)
        page.evaluate(
            "([message, data]) => window.answer(message, data)",
            [content, base64.b64encode(buffers[0]).decode() if buffers else None],
        )

    (asked,) = page.evaluate("window.sent")
    assert (asked["want"], asked["number"]) == ("frame", 3)
    deliver(asked)
    page.wait_for_function("document.querySelector('.picture img').naturalWidth === 56")
    page.get_by_role("button", name="Reconstruct").click()
    asked = page.evaluate("window.sent.at(-1)")
    assert asked == {"want": "run", "method": "auto", "parameters": {}}
    ask(view, **asked)
    view.join()
    page.evaluate("(state) => window.change(state)", view.state)
    asked = page.evaluate("window.sent.at(-1)")
    assert (asked["want"], asked["name"]) == ("map", "depth")
    deliver(asked)
    page.wait_for_function("document.querySelector('.picture img').src.startsWith('blob:')")
    page.wait_for_function("document.querySelector('.picture img').alt === 'depth'")
    page.locator(".picture").click(position={"x": 100, "y": 80})
    asked = page.evaluate("window.sent.at(-1)")
    box = page.locator(".picture img").bounding_box()
    assert asked["want"] == "curve"
    assert asked["x"] == int(100 / box["width"] * 56)
    assert asked["y"] == int(80 / box["height"] * 40)
    deliver(asked)
    assert page.locator(".curve circle").count() == 7
    assert "confidence" in page.locator(".curve").inner_text()
    assert not problems
    if SCREENSHOTS:
        page.screenshot(path=f"{SCREENSHOTS}/widget.png")
