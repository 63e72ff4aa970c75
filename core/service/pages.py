"""What the listener itself serves: `/livez`, `/readyz` and `/metrics`. Imported on a thread once the desk is ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from core.ports import AsgiApp
from core.service.listener import mounted_at
from core.service.metrics import Metrics
from core.service.readiness import Readiness

HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
HERE = "/livez, /readyz and /metrics"


class Pages:
    """The pages of one daemon. Lives on the main loop."""

    def __init__(self, readiness: Readiness, metrics: Metrics) -> None:
        self._readiness = readiness
        self._metrics = metrics

    def app(self, mounted: Mapping[str, AsgiApp]) -> AsgiApp:
        """With whatever is mounted at the time of a request, the longest prefix first."""
        app = Starlette(
            routes=[
                Route("/livez", self._live),
                Route("/readyz", self._ready),
                Route("/metrics", self._numbers),
            ],
            exception_handlers={HTTPException: _refused},
        )
        app.router.redirect_slashes = False
        app.router.default = _Elsewhere(mounted, otherwise=app.router.default)
        return cast("AsgiApp", app)

    async def _live(self, request: Request) -> Response:
        return JSONResponse({"alive": True}, headers=HEADERS)

    async def _ready(self, request: Request) -> Response:
        ready, told = await self._readiness.report()
        return JSONResponse(told, status_code=200 if ready else 503, headers=HEADERS)

    async def _numbers(self, request: Request) -> Response:
        text, kind = await self._metrics.render(request.headers.get("accept", ""))
        return Response(text, headers={**HEADERS, "content-type": kind})


class _Elsewhere:
    """Applications of bots, looked up at each request since a reload brings and takes some; the longest prefix wins."""

    def __init__(self, mounted: Mapping[str, AsgiApp], otherwise: ASGIApp) -> None:
        self._mounted = mounted
        self._otherwise = otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root, path = scope.get("root_path", ""), scope["path"]
        prefix = mounted_at(path.removeprefix(root), self._mounted)
        if prefix is None:
            await self._otherwise(scope, receive, send)
            return
        app = cast("ASGIApp", self._mounted[prefix])
        await app({**scope, "root_path": root + prefix}, receive, send)


async def _refused(request: Request, fault: Exception) -> Response:
    if not isinstance(fault, HTTPException):
        raise fault
    words = {404: f"nothing is served here; there are {HERE}", 405: "this is only read: ask with GET or HEAD"}
    told = {"error": words.get(fault.status_code, fault.detail)}
    return JSONResponse(told, status_code=fault.status_code, headers={**HEADERS, **(fault.headers or {})})
