"""``varfocus app``: the page in the browser."""

from __future__ import annotations

import socket
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from varfocus.cli.console import Narrator, Talk, TalkOptions
from varfocus.cli.source import FocusOptions, load
from varfocus.errors import OutputError, UsageError
from varfocus.export import RUN_RECORD
from varfocus.export.saved import SavedResult, load_result
from varfocus.io.calibration import Focus
from varfocus.stack import FocusStack

LOOPBACK = "127.0.0.1"
MOST_SAID = 1 << 16
"""Bytes of a request's head, or of a message on the WebSocket: the page sends none there."""


def app(
    *source: Annotated[str, Parameter(name="FRAMES")],
    port: int = 0,
    browser: bool = True,
    sessions: Path | None = None,
    listen: str = LOOPBACK,
    focus: FocusOptions = Focus(),
    talk: TalkOptions = Talk(),
) -> None:
    """Open a page in the browser to see, probe and steer a reconstruction.

    The page answers this machine only, under an address with a secret token that is printed.
    Ctrl-C ends it. The work is kept as it goes, in a folder that nobody else can read, and goes on
    when the same frames are given again, or when it is chosen on the page.

    Parameters
    ----------
    source
        A folder, a pattern, several files or a multi-page file; or the output folder of varfocus
        depth. Without it the page asks.
    port
        Port on 127.0.0.1; by default any that is free.
    browser
        Open the page in the browser.
    sessions
        Folder in which the work is kept; by default one of your own for all of varfocus.
    listen
        Address to listen on. In a container it has to be 0.0.0.0, with the port published to the
        same one of 127.0.0.1: the page answers to no other name than 127.0.0.1 and localhost.
    """
    try:
        import uvicorn

        from varfocus.app.guard import new_token
        from varfocus.app.server import Page, application, static_folder
        from varfocus.app.sessions import Door, Shelf, default_root
    except ImportError as error:
        raise UsageError(
            f"the page needs the package {error.name}",
            "expected varfocus with its extra “app”",
            'Install it: pip install "varfocus[app]"',
        ) from error
    if not (static_folder() / "index.html").is_file():
        raise UsageError(
            "the page has not been built",
            "expected the files of the page beside the package",
            "Install a wheel of varfocus, or run “make page” in the source tree (needs Node.js).",
        )
    narrator = Narrator(talk)
    content: FocusStack | SavedResult | None = None
    if len(source) == 1 and (Path(source[0]) / RUN_RECORD).is_file():
        content = load_result(source[0])
    elif source:
        content = load(list(source), focus, narrator)
    shelf = Shelf(sessions or default_root())
    # A tab that is still open finds the page again: same port, same token.
    last = shelf.door()
    listener, token = None, new_token()
    if last is not None and port in (0, last.port):
        with suppress(OutputError):  # another varfocus is there
            listener, token = _listen(listen, last.port), last.token
    if listener is None:
        listener = _listen(listen, port)
    door_now = Door(listener.getsockname()[1], token)
    if last is None or door_now.token == last.token or not _taken(last.port):
        shelf.remember(door_now)
    address = f"{LOOPBACK}:{door_now.port}"
    hosts = (address, address.replace(LOOPBACK, "localhost"))
    url = f"http://{address}/?token={token}"
    page = Page(content, source, focus, shelf)
    server = uvicorn.Server(
        uvicorn.Config(
            application(page, token, hosts),
            log_level="critical",
            access_log=False,
            # Without it Ctrl-C would wait for open pages for ever.
            timeout_graceful_shutdown=1,
            ws="websockets-sansio",
            # Maps are sent over it: packing floats takes longer than it saves.
            ws_per_message_deflate=False,
            ws_max_size=MOST_SAID,
            h11_max_incomplete_event_size=MOST_SAID,
        )
    )
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    narrator.say("The page is at this address; Ctrl-C ends it.")
    with doorway(url) as door:
        if browser:
            webbrowser.open(door)
        server.run(sockets=[listener])


@contextmanager
def doorway(url: str) -> Iterator[str]:
    """Write a private file that leads to the address, and yield where it is.

    The command line of a browser can be read by every user of the machine; a file of mode 0600,
    in a folder of its own, cannot.
    """
    with tempfile.TemporaryDirectory(prefix="varfocus-") as folder:
        path = Path(folder) / "open.html"
        path.touch(mode=0o600)
        path.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={url}">')
        yield path.as_uri()


def _taken(port: int) -> bool:
    """Tell whether a program listens on a port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def _listen(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # A port must be ours alone. Elsewhere SO_REUSEADDR only spares the wait after the last use; on
    # Windows it would let another program share the port, which this other option forbids.
    exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)
    listener.setsockopt(socket.SOL_SOCKET, exclusive or socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen()  # whoever reads the address may come before the server is up
    except (OSError, OverflowError) as error:
        listener.close()
        raise OutputError(
            f"port {port} cannot be used on {address}: {getattr(error, 'strerror', None) or error}",
            "expected a free port above 1023, and an address of this machine",
            "Leave --port and --listen out to take any free port of 127.0.0.1.",
        ) from error
    return listener
