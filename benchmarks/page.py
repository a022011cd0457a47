"""How soon the page answers: from a slider event to the new depth drawn, in headless Chromium.

    python benchmarks/page.py [FOLDER ...]

Without folders the page's own example is measured. ``--pan`` also measures how smoothly the maps
move, and what they take: frame times, memory, requests and messages during a drag across them.
Needs Chromium and the built page (``make page``), as tests/app/test_page.py does.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
from playwright.sync_api import Browser, Page, expect, sync_playwright

PATIENCE = 600_000
SINGLE_CHANGES = 15
DRAGS = 5
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]

LISTEN = """() => {
    // When the news of each sketch came, and how long the solver took for it.
    window.news = [];
    window.WebSocket = class extends WebSocket {
        constructor(...given) {
            super(...given);
            this.addEventListener("message", ({ data }) => {
                if (typeof data === "string") return;
                const length = new DataView(data).getUint32(0, true);
                const text = new TextDecoder().decode(new Uint8Array(data, 4, length));
                const solver = 1000 * JSON.parse(text).result.seconds;
                window.news.push({ at: performance.now(), solver, bytes: data.byteLength });
            });
        }
    };
}"""

WATCH = """() => {
    const canvas = document.querySelector("#panes canvas:not(.overlay)");
    const version = () => Math.max(0, ...(canvas.dataset.shown ?? "").split(" ")
        .filter((key) => key.includes("/depth/")).map((key) => parseInt(key)));
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    let drawn = 0;
    let painted = 0;
    let last = version();
    new MutationObserver(() => {
        if (version() <= last) return;
        last = version();
        painted = performance.now();
        // The frame after the one that drew it: by then it is on the screen.
        requestAnimationFrame(() => (drawn = performance.now()));
    }).observe(canvas, { attributeFilter: ["data-shown"] });
    const set = (value) => {
        const knob = document.querySelector("#knob");
        knob.value = value;
        knob.dispatchEvent(new Event("input", { bubbles: true }));
        return performance.now();
    };
    window.change = async (value) => {
        const began = set(value);
        while (drawn < began) {
            if (performance.now() - began > 30000) throw new Error("no answer in 30 s");
            await pause(5);
        }
        const { at, solver, bytes } = window.news.at(-1);
        return { latency: drawn - began, solver, news: at - began - solver, bytes,
            drawing: painted - at, screen: drawn - painted };
    };
    window.drag = async (from, to) => {
        let began = 0;
        let shown = 0;
        let before = drawn;
        for (let k = 1; k <= 20; k++) {
            began = set(from + ((to - from) * k) / 20);
            await pause(50);
            if (drawn > before) [shown, before] = [shown + 1, drawn];
        }
        await pause(3000);
        return { latency: drawn - began, shown };
    };
}"""

PAN = """async () => {
    const surface = document.querySelector("#panes .overlay");
    const box = surface.getBoundingClientRect();
    const at = (type, x, y) => surface.dispatchEvent(new PointerEvent(type, {
        clientX: x, clientY: y, pointerId: 1, bubbles: true,
        buttons: type === "pointerup" ? 0 : 1 }));
    surface.setPointerCapture = () => {};
    const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const times = [];
    let before = await next();
    const steps = 240;
    const middle = [box.left + box.width / 4, box.top + box.height / 4]; // inside the first pane
    at("pointerdown", ...middle);
    for (let k = 1; k <= steps; k++) {
        const turn = (2 * Math.PI * k) / steps;
        at("pointermove", middle[0] + 600 * Math.sin(turn), middle[1] + 500 * Math.sin(2 * turn));
        const now = await next();
        times.push(now - before);
        before = now;
    }
    at("pointerup", ...middle);
    return times;
}"""


@contextmanager
def served(*source: str) -> Iterator[str]:
    """Run the page's server and yield its address."""
    command = [sys.executable, "-m", "varfocus", "app", "--no-browser", *source]
    with (
        tempfile.TemporaryDirectory() as sessions,  # nothing goes on where another run ended
        subprocess.Popen(
            [*command, "--sessions", sessions],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)


def opened(browser: Browser, address: str, example: bool, method: str) -> Page:
    """Open the page, and reconstruct with the defaults of a method."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(PATIENCE)
    page.add_init_script(f"({LISTEN})()")
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    if example:
        page.click("#try")
    page.wait_for_selector("#strip li")
    expect(page.locator("#progress")).to_be_hidden(timeout=PATIENCE)
    page.select_option("#method", method)
    page.click("#run")
    page.wait_for_selector("a[data-product='depth.tif']")
    expect(page.locator("#progress")).to_be_hidden(timeout=PATIENCE)
    return page


def steer(page: Page, name: str) -> None:
    """Print how soon single changes and the ends of fast drags are drawn."""
    page.evaluate(WATCH)
    page.evaluate("() => change(0.5)")
    before = processor_seconds()
    changes = [
        page.evaluate("(value) => change(value)", 0.3 + 0.4 * k / SINGLE_CHANGES)
        for k in range(SINGLE_CHANGES)
    ]
    spent = {name: t - before.get(name, 0.0) for name, t in processor_seconds().items()}
    single = [change["latency"] for change in changes]
    drags = [
        page.evaluate("([from, to]) => drag(from, to)", [0.3 + 0.01 * k, 0.8 - 0.01 * k])
        for k in range(DRAGS)
    ]
    state = page.evaluate("async () => (await fetch('/api/state')).json()")
    size = "×".join(map(str, state["preview"]))
    ends = [drag["latency"] for drag in drags]
    print(
        f"| {name} | {size} | {statistics.median(single):.0f} | {max(single):.0f} "
        f"| {statistics.median(ends):.0f} | {max(ends):.0f} "
        f"| {statistics.median(drag['shown'] for drag in drags):.0f} of 20 |",
        flush=True,
    )
    parts = {
        part: statistics.median(change[part] for change in changes)
        for part in ("solver", "news", "drawing", "screen", "bytes")
    }
    print(
        f"of a change: solver {parts['solver']:.0f}, asking and sending {parts['news']:.0f}, "
        f"drawing {parts['drawing']:.0f}, until the next frame {parts['screen']:.0f} ms; "
        f"{parts['bytes'] / 1024:.0f} KB in one message\nprocessor time per change: "
        + ", ".join(f"{name} {1000 * t / SINGLE_CHANGES:.0f} ms" for name, t in spent.items()),
        flush=True,
    )


KINDS = {
    "--type=renderer": "page",
    "--type=gpu": "drawing",
    "varfocus.app.process": "workers",
    "varfocus app": "server",
    "chromium": "browser",
}
"""What the processes are, by a piece of their command line."""


def processes() -> Iterator[tuple[str, psutil.Process]]:
    """Yield every process below this one that takes part, and what it is."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            words = " ".join(process.cmdline())
            kind = next((kind for text, kind in KINDS.items() if text in words), None)
            if kind:
                yield kind, process


def processor_seconds() -> dict[str, float]:
    """Return the processor time so far of browser, server and workers, which load hides less."""
    spent: dict[str, float] = {}
    for kind, process in processes():
        with suppress(psutil.Error):
            times = process.cpu_times()
            spent[kind] = spent.get(kind, 0.0) + times.user + times.system
    return spent


def memory_bytes() -> dict[str, int]:
    """Return the memory of the largest process of each kind."""
    held: dict[str, int] = {}
    for kind, process in processes():
        with suppress(psutil.Error):
            held[kind] = max(held.get(kind, 0), process.memory_info().rss)
    return held


def pan(page: Page) -> None:
    """Print what a drag across the maps at full resolution costs."""
    messages: list[int] = []
    requests: list[str] = []
    received: list[int] = []
    page.on("websocket", lambda s: s.on("framereceived", lambda m: messages.append(len(m))))
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    page.wait_for_timeout(2000)
    page.on("request", lambda r: requests.append(r.url))
    page.on("response", lambda r: received.append(int(r.headers.get("content-length", 0))))
    page.locator(".overlay").focus()
    page.keyboard.press("1")
    page.wait_for_timeout(1500)
    for _ in range(2):  # the second time tiles come from memory
        began = len(requests)
        before = processor_seconds()
        times = sorted(page.evaluate(PAN))
        spent = {name: t - before.get(name, 0.0) for name, t in processor_seconds().items()}
        page.wait_for_timeout(1000)
        heap = page.evaluate("() => performance.memory?.usedJSHeapSize ?? 0") / 2**20
        print(
            f"pan: frame times median {statistics.median(times):.0f} ms, "
            f"95 % {times[int(0.95 * len(times))]:.0f} ms, longest {times[-1]:.0f} ms; "
            f"{len(requests) - began} requests; largest answer {max(received, default=0) >> 10} KB;"
            f" heap of the page {heap:.0f} MB; {len(messages)} messages, "
            f"the largest of {max(messages, default=0)} bytes",
            flush=True,
        )
        cost = (f"{name} {1000 * t / len(times):.0f} ms" for name, t in spent.items())
        print(f"processor time per frame: {', '.join(cost)}", flush=True)
    memory = ", ".join(f"{name} {size >> 20} MB" for name, size in memory_bytes().items())
    print(f"largest process: {memory}", flush=True)


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="*")
    parser.add_argument("--pan", action="store_true")
    parser.add_argument("--no-steer", action="store_true")
    parser.add_argument("--method", default="auto")
    given = parser.parse_args()
    chromium = os.environ.get("VARFOCUS_CHROMIUM") or shutil.which("chromium")
    print(
        "| stack | preview | change, ms | longest | end of drag, ms | longest | drawn meanwhile |"
    )
    print("|---|---|---|---|---|---|---|")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for folder in given.folder or [""]:
            with served(*([folder] if folder else [])) as address:
                page = opened(browser, address, example=not folder, method=given.method)
                if given.pan:  # first: what is steered is a sketch, not the result in full size
                    pan(page)
                if not given.no_steer:
                    steer(page, folder or "example")
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
