"""Who may talk to the page's server: this machine's user, from the page itself, and nobody else.

A server on the loopback address can be reached by every program of the machine and, through the
user's browser, by every web page they visit. Hence four checks before anything else happens:

- **Host** must be the address that was printed, which defeats DNS rebinding;
- **Origin**, where the browser sends one, must be that address exactly, and it must be sent with
  everything that changes something and with every WebSocket;
- **Sec-Fetch-Site**, where sent, must be ``same-origin`` or, for the page itself, ``none``;
- the **token** of 32 random bytes, once in the address and from then on in a cookie that scripts
  cannot read and other sites cannot send. Cookies ignore ports, so its name contains the port.
"""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""What the page may load: its own files. Nothing inline, nothing evaluated, no other host."""

HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

LONGEST_PATH = 1024
"""Letters in the path of a request."""

SAFE_METHODS = ("GET", "HEAD")


def new_token() -> str:
    """Return 32 random bytes as text."""
    return secrets.token_urlsafe(32)


class Guard:
    """Let through only what comes from the page; one layer for HTTP and WebSocket.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    token : str
        The secret of this server.
    hosts : tuple of str
        Values of the Host header that are this server, such as ``127.0.0.1:8000``.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: tuple[str, ...]) -> None:
        self._app, self._token, self._hosts = app, token, hosts
        self._cookie = "varfocus-" + hosts[0].rpartition(":")[2]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is None and scope["type"] == "http" and self._brings_token(scope):
            welcome = self._welcome(headers)
            welcome.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            await welcome(scope, receive, self._with_headers(send))
        elif refusal is None and not self._has_cookie(headers):
            refusal = 403, "The token is missing. Open the address that varfocus printed."
        elif refusal is None:
            await self._app(scope, receive, self._with_headers(send))
        if refusal is not None:
            await self._refuse(refusal, scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        if len(scope["path"]) > LONGEST_PATH:
            return 414, "No address of this server is that long."
        host = headers.get("host", "")
        if host not in self._hosts:
            return 421, "This server does not answer to that name."
        origin = headers.get("origin")
        changes = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if (origin is not None or changes) and origin != f"http://{host}":
            return 403, "Requests must come from the page of this server."
        site = headers.get("sec-fetch-site", "same-origin")
        navigation = site == "none" and not changes
        if site != "same-origin" and not navigation and not self._follows_link(scope):
            return 403, "Requests must come from the page of this server."
        return None

    @staticmethod
    def _welcome(headers: Headers) -> Response:
        """Return what leads on to the page once the cookie is set.

        A browser sent here from elsewhere, such as by the file that `varfocus app` opens, does not
        send a strict cookie after a redirection, but does from a page of this server.
        """
        if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
            return RedirectResponse("/", 303)
        return HTMLResponse('<!doctype html><meta http-equiv="refresh" content="0;url=/">')

    def _follows_link(self, scope: Scope) -> bool:
        """Tell whether someone follows the printed link from another program, with the token."""
        return scope["type"] == "http" and self._brings_token(scope)

    def _brings_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        correct = secrets.compare_digest(given.encode(), self._token.encode())
        return bool(scope["path"] == "/" and scope["method"] == "GET" and correct)

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        given = "" if morsel is None else morsel.value
        return secrets.compare_digest(given.encode(), self._token.encode())

    @staticmethod
    def _with_headers(send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        return sending

    async def _refuse(
        self, refusal: tuple[int, str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        if scope["type"] == "websocket":
            await receive()  # the handshake; closing before accepting answers it with 403
            await send({"type": "websocket.close", "code": 1008})
            return
        status, words = refusal
        await PlainTextResponse(words, status)(scope, receive, self._with_headers(send))
