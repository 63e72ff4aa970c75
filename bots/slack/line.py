"""The connection to Slack's API. Errors come out as ours, waits it asks for are kept, nothing is tried twice."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from math import inf
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from msgspec import Struct
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bots.slack import faults
from config.bots import SlackSettings
from core.errors import BotRejected, FloodWait, NotSent, Rejected, SendError, Unknown
from core.fields import Json
from core.ports import Clock

_POSTS: Final = frozenset({"chat.postMessage", "files.completeUploadExternal"})
"""Limited channel by channel (https://docs.slack.dev/apis/web-api/rate-limits); all else as a whole."""
_SLACK: Final = re.compile(r"(?:[a-z0-9-]+\.)*slack(?:-gov)?\.com(?::443)?", re.ASCII)
"""Where Slack keeps files, and nobody else does: https://github.com/slack-go/slack/releases/tag/v0.30.1."""
_READS: Final = frozenset({"conversations.history", "conversations.replies", "users.conversations"})
"""How it is learned what people said. Without the scope for that some of it would be lost, and nobody would know."""
_CHATTY: Final = ("slack_sdk", "aiohttp.client")
_BROKEN: Final = (aiohttp.ClientError, TimeoutError, OSError, ValueError, RecursionError)


class Patience(Struct, frozen=True, kw_only=True):
    """How long to wait for Slack, in seconds of real time. A socket that is silent for `ping_s` is given up."""

    connect_s: float = 5.0
    answer_s: float = 20.0
    ping_s: float = 15.0
    aside_s: float = 1.5
    """For what an event can be understood without."""
    prompt_s: float = 2.0
    """For all that is looked up while a person waits for a command or a press to be acknowledged, which Slack wants
    within three seconds (https://docs.slack.dev/interactivity/handling-user-interaction#acknowledgment_response)."""


PATIENCE: Final = Patience()


class Line:
    """One account's way to Slack's API, for one `run`."""

    def __init__(
        self, settings: SlackSettings, session: aiohttp.ClientSession, clock: Clock, patience: Patience
    ) -> None:
        self.session = session
        self.clock = clock
        self.patience = patience
        self.refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Gets `BotRejected` once Slack refuses the account."""
        self.refused.add_done_callback(_look_at)
        self.scopes: frozenset[str] = frozenset()
        """What the bot token may do, as Slack last told it."""
        self.date = ""
        """What the clock of Slack showed last, as HTTP writes it, and ours when that came."""
        self.dated_at = clock.now()
        self.proxy = settings.proxy.reveal() if settings.proxy else None
        self._token = settings.bot_token.reveal()
        self._app_token = settings.app_token.reveal() if settings.app_token else ""
        self._root = urlsplit(settings.api_base)
        self._client = _Client(self._token, base_url=f"{settings.api_base}/", session=session, retry_handlers=[])
        self._client.proxy = self.proxy  # the SDK would take the environment's
        self._until: dict[tuple[str, str], float] = {}

    def web_client(self) -> AsyncWebClient:
        """For the SDK's own parts."""
        return self._client

    async def call(self, method: str, arguments: Json, *, telling: bool = True) -> dict[str, Any]:
        """Call a method and return its answer. `telling`: a refusal tells that the account is refused; else this call
        alone is `Rejected`, unless it lacks the scope to read what people said. Raises `BotError`."""
        try:
            return await self.tried(method, arguments, telling=telling)
        except faults.Unreached as trouble:
            raise NotSent(str(trouble)) from None
        except faults.Silence as trouble:
            raise Unknown(str(trouble)) from None

    async def tried(self, method: str, arguments: Json, *, telling: bool) -> dict[str, Any]:
        """As `call`, but what got no answer at all is told apart: `Unreached` or `Silence`."""
        place = method, str(arguments.get("channel") or arguments.get("channel_id") or "") if method in _POSTS else ""
        self._keep_waiting(place)
        try:
            return await self._ask(method, {"data": _form(arguments)})
        except FloodWait as wait:
            self._until[place] = self.clock.monotonic() + wait.wait_s
            raise
        except BotRejected as refusal:
            if not telling and not (method in _READS and isinstance(refusal, faults.ScopeLacking)):
                raise Rejected(str(refusal)) from None
            self._refuse(refusal)
            raise

    async def socket_address(self) -> str:
        """Where the next socket is opened, good once and for seconds. Raises `BotError`."""
        try:
            answer = await self._ask("apps.connections.open", {"params": {"token": self._app_token}})
        except BotRejected as refusal:
            app_token = BotRejected(f"app_token: {refusal}")
            self._refuse(app_token)
            raise app_token from None
        address = answer.get("url")
        if not isinstance(address, str) or urlsplit(address).scheme not in {"ws", "wss"}:
            raise Unknown("Slack names no address for a socket")
        return address

    # how long

    def soon_s(self) -> float:
        """When somebody is to have been acknowledged who begins to wait now; of the loop's time."""
        return asyncio.get_running_loop().time() + self.patience.prompt_s

    def aside(self, until_s: float = inf) -> asyncio.Timeout:
        """A block for what one can do without, which ends by then."""
        return asyncio.timeout_at(min(until_s, asyncio.get_running_loop().time() + self.patience.aside_s))

    def _keep_waiting(self, place: tuple[str, str]) -> None:
        left_s = self._until.get(place, 0.0) - self.clock.monotonic()
        if left_s > 0:
            raise FloodWait(left_s)
        self._until.pop(place, None)

    def _refuse(self, refusal: BotRejected) -> None:
        if not self.refused.done():
            self.refused.set_exception(refusal)

    async def _ask(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self.patience.answer_s + self.patience.connect_s):
                answer = await self._client.api_call(method, **request)
        except SlackApiError as error:
            raise _told(method, error.response) from None
        except _BROKEN as error:
            raise faults.broken(error) from None
        self._note(method, answer.headers)
        return dict(answer.data) if isinstance(answer.data, dict) else {}

    def _note(self, method: str, headers: Mapping[str, str]) -> None:
        self.date, self.dated_at = headers.get("Date", ""), self.clock.now()
        told = headers.get("x-oauth-scopes", "")
        if method == "auth.test" and told:
            self.scopes = frozenset(one.strip() for one in told.split(","))

    # what is no method

    async def post(self, url: str, body: Json) -> None:
        """Answer at a response URL. Raises `SendError`."""
        try:
            async with self.session.post(url, json=body, proxy=self.proxy, allow_redirects=False) as response:
                status, retry_after = response.status, response.headers.get("Retry-After")
        except _BROKEN as error:
            raise _send_error(faults.broken(error)) from None
        if status == 429:
            raise faults.flood(retry_after)
        if status >= 500:
            raise Unknown(f"Slack: HTTP status {status} at the response URL")
        if status != 200:
            raise Rejected(f"Slack: HTTP status {status} at the response URL")

    def authorization(self, url: str) -> dict[str, str] | None:
        """The header that opens a file of Slack's. None for an address that is neither Slack's nor the API's, which
        people may have put there, and for what would go unencrypted though the API does not."""
        try:
            there = urlsplit(url)
        except ValueError:
            return None
        slacks = there.scheme == "https" and _SLACK.fullmatch(there.netloc) is not None
        ours = (there.scheme, there.netloc) == (self._root.scheme, self._root.netloc)
        return {"Authorization": f"Bearer {self._token}"} if slacks or ours else None


class _Client(AsyncWebClient):
    """The SDK's client, which follows no redirect and reads only JSON objects."""

    async def _request(self, *, http_verb: str, api_url: str, req_args: dict[str, Any]) -> dict[str, Any]:
        arguments = {**req_args, "allow_redirects": False}
        answer = await super()._request(http_verb=http_verb, api_url=api_url, req_args=arguments)
        return answer if isinstance(answer["data"], dict) else {**answer, "data": {}}


@asynccontextmanager
async def connected(settings: SlackSettings, clock: Clock, patience: Patience) -> AsyncIterator[Line]:
    """A line, open until the end of the block."""
    for chatty in _CHATTY:  # these write addresses, and what people say
        logging.getLogger(chatty).setLevel(logging.WARNING)
    timeout = aiohttp.ClientTimeout(total=None, connect=patience.connect_s * 2, sock_connect=patience.connect_s,
                                    sock_read=patience.answer_s)  # fmt: skip
    async with aiohttp.ClientSession(trust_env=False, timeout=timeout) as session:
        yield Line(settings, session, clock, patience)


def _form(arguments: Mapping[str, object]) -> dict[str, str]:
    """Every method takes forms, with structured values as JSON (https://docs.slack.dev/apis/web-api/#basics)."""
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in arguments.items()
        if value is not None
    }


def _told(method: str, response: object) -> Exception:
    """What an answer means that is not "ok": true."""
    if not isinstance(response, AsyncSlackResponse):
        return Unknown("Slack's answer is not to be read")
    if response.status_code == 429:
        return faults.flood(response.headers.get("Retry-After"))
    answer = response.data if isinstance(response.data, dict) else {}
    if response.status_code >= 500 or "error" not in answer:
        return Unknown(f"no clear answer from Slack (HTTP status {response.status_code})")
    return faults.refusal(method, answer, response.headers.get("Retry-After"))


def _send_error(error: Exception) -> SendError:
    return error if isinstance(error, SendError) else Unknown("no clear answer from Slack")


def _look_at(future: asyncio.Future[None]) -> None:
    """Else asyncio would remark that nobody looked."""
    if not future.cancelled():
        future.exception()
