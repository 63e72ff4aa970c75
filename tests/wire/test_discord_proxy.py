"""All that the bot does goes through the proxy of its configuration, and to the roots of its configuration."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.wire.discord_world import World, serving

NOWHERE = "discord.invalid"
"""No name server knows it (RFC 6761), so only a proxy leads there."""


@asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[str]:
    """A proxy that takes every request to one server; the double reads addresses as proxies get them."""
    tasks: set[asyncio.Task[None]] = set()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        for way in (pipe(reader, back), pipe(there, writer)):
            tasks.add(asyncio.create_task(way))

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_calls_the_gateway_answers_and_files_go_through_the_proxy(discord: World) -> None:
    server = discord.server
    port = int(server.url.rpartition(":")[2])
    server.platform.root = f"http://{NOWHERE}"  # where files and the gateway are, as Discord says
    async with (
        proxy_to(port) as proxy,
        serving(discord, api_base=f"http://{NOWHERE}/api/v10", proxy=proxy) as (bot, desk),
    ):
        server.say(discord.dm, discord.ada, "see", files=[("a.txt", b"hi")])
        await desk.until(lambda: len(desk.messages) == 1)
        await bot.send(discord.delivery(desk.messages[0], "seen"))
        pieces = [piece async for piece in bot.fetch(desk.messages[0].attachments[0])]
        await discord.wait(lambda: bool(server.commands()))
        server.command(discord.ada, discord.dm, "status")
        await desk.until(lambda: len(desk.messages) == 2)
        await bot.send(discord.delivery(desk.messages[1], "well"))
    assert b"".join(pieces) == b"hi"
    assert server.texts(discord.dm) == ("seen", "well")
