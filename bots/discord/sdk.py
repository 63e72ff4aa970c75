"""discord.py, loaded without a word: on Python 3.11 its voice part warns of a module that goes with 3.13."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'audioop' is deprecated", DeprecationWarning)
    import discord
    from discord.gateway import DiscordWebSocket, KeepAliveHandler, ReconnectWebSocket
    from discord.http import HTTPClient, Ratelimit, Route, json_or_text
    from discord.oggparse import OggError, OggPage

__all__ = [
    "DiscordWebSocket",
    "HTTPClient",
    "KeepAliveHandler",
    "OggError",
    "OggPage",
    "Ratelimit",
    "ReconnectWebSocket",
    "Route",
    "discord",
    "json_or_text",
]
