"""The gateway's websockets."""

import asyncio
import json
import zlib
from typing import TypeAlias

from aiohttp import WSMsgType, web

from tests.fakes.discord.gateway import check_heartbeat, greet, part, receive
from tests.fakes.discord.platform import Platform
from tests.fakes.discord.sessions import Close, Frame, Link
from tests.fakes.discord.waiting import Waiters

Deflater: TypeAlias = "zlib._Compress"


class GatewayFront:
    def __init__(self, platform: Platform, waiters: Waiters) -> None:
        self._platform = platform
        self._waiters = waiters
        self._number = 0

    async def on_connect(self, request: web.Request) -> web.StreamResponse:
        """Reads until the connection ends; a task beside it writes."""
        refused = self._platform.rules.upgrade_status
        if refused is not None:
            return web.Response(status=refused)
        socket = web.WebSocketResponse(compress=False, autoping=True, max_msg_size=0)
        await socket.prepare(request)
        query = dict(request.query)
        self._number += 1
        link = Link(self._number)
        with self._platform.lock:
            greet(self._platform, link, query)
        writer = asyncio.create_task(self._write(request, socket, link, query.get("compress") == "zlib-stream"))
        self._platform.changed()
        code: int | None = None
        try:
            code = await self._read(socket, link)
        finally:
            with self._platform.lock:
                part(self._platform, link, code)
            writer.cancel()
            await asyncio.wait([writer])
        return socket

    async def _read(self, socket: web.WebSocketResponse, link: Link) -> int | None:
        """Until the end; returns the close code."""
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            with self._platform.lock:
                receive(self._platform, link, message.data)
                self._platform.changed()
        return socket.close_code

    async def _write(self, request: web.Request, socket: web.WebSocketResponse, link: Link, packed: bool) -> None:
        deflater = zlib.compressobj() if packed else None
        while not socket.closed:
            changed = self._waiters.waiter()
            with self._platform.lock:
                until = check_heartbeat(self._platform, link)
                frames = _due(link)
            for frame in frames:
                if isinstance(frame, Close):
                    await _close(request, socket, frame.code)
                    return
                await _send(socket, json.dumps(frame), deflater)
            if self._waiters.stopping:
                await _close(request, socket, 1001)
                return
            if frames:
                self._platform.changed()
            await self._waiters.wait(changed, until)


def _due(link: Link) -> list[Frame]:
    frames: list[Frame] = list(link.frames)
    link.frames.clear()
    if link.session is not None and not any(isinstance(frame, Close) for frame in frames):
        fresh = link.session.events[link.sent_seq :]
        link.sent_seq += len(fresh)
        frames += fresh
    return frames


async def _send(socket: web.WebSocketResponse, text: str, deflater: "Deflater | None") -> None:
    try:
        if deflater is None:
            await socket.send_str(text)
        else:
            data = deflater.compress(text.encode()) + deflater.flush(zlib.Z_SYNC_FLUSH)
            await socket.send_bytes(data)
    except (ConnectionError, RuntimeError):
        return


async def _close(request: web.Request, socket: web.WebSocketResponse, code: int | None) -> None:
    if code is None:
        if request.transport is not None:
            request.transport.abort()
        return
    await socket.close(code=code, drain=True)
