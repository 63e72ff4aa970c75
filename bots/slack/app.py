"""Bolt (https://docs.slack.dev/tools/bolt-python) between what brings Slack's payloads, sockets or HTTP, and the
listeners that store what they mean.

Whose a payload is was found before (`siblings`). Bolt tells kinds apart and calls the listener; only once that has
returned is anything acknowledged. What Bolt would acknowledge without a listener is kept from it: its own check of
tokens, its filter of a bot's own events, its assistant. Importing it takes a tenth of a second, so a bot that runs
imports this module, on a thread.
"""

from __future__ import annotations

import json
import logging
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from slack_bolt.async_app import AsyncApp, AsyncBoltContext, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.listener.async_listener_start_handler import AsyncCustomListenerStartHandler
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bots.slack.forms import ARGUMENT, FORM
from bots.slack.inbound import event_of
from bots.slack.intake import NotTaken
from bots.slack.interactions import ASK, RESUME
from bots.slack.markup import PRESS
from core.fields import Json

if TYPE_CHECKING:
    from bots.slack.listening import Listener

_LOG: Final = logging.getLogger(__name__)
_MUTE: Final = logging.getLogger("slack_bolt.muted")
"""Bolt writes whole payloads. Its other loggers take over that this one is disabled."""
_MUTE.disabled = True
_MUTE.setLevel(logging.CRITICAL)
_NAME: Final = "slack_bolt.frontdesk"
"""Also of a logger, which Bolt disables."""
_REACHED: Final = "frontdesk_reached"
_SPOILED: Final = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What Bolt raises about a payload that has not the shape of Slack's."""


class Bolt:
    """For one account; it calls nothing of Slack. A listener returns once all is stored that is to be: what it raises
    is not acknowledged. `SLACK_CLIENT_ID` and `SLACK_CLIENT_SECRET` in the environment give Bolt an OAuth flow; nothing
    here leads to it."""

    def __init__(self, ears: Listener, client: AsyncWebClient) -> None:
        self._ears = ears
        self._app = app = AsyncApp(
            name=_NAME,
            logger=_MUTE,
            client=client,
            authorize=_authorize,
            process_before_response=True,
            request_verification_enabled=False,
            ignoring_self_events_enabled=False,
            ssl_check_enabled=False,
            url_verification_enabled=False,
            attaching_function_token_enabled=False,
            attaching_conversation_kwargs_enabled=False,
        )
        app.error(self._failed)
        app.listener_runner.listener_start_handler = AsyncCustomListenerStartHandler(_MUTE, _reach)
        app.event(re.compile("^(?:message|app_mention|channel_id_changed)$"))(ears.message)
        app.event("app_home_opened")(ears.home_opened)
        app.event("assistant_thread_started")(ears.assistant_opened)
        app.event(re.compile("^(?:app_uninstalled|tokens_revoked)$"))(ears.installation_changed)
        app.command(re.compile(""))(ears.command)
        app.block_action(re.compile(f"^{PRESS}"))(ears.pressed)
        app.block_action(re.compile(f"^{RESUME}"))(ears.resumed)
        app.message_shortcut(ASK)(ears.asked)
        app.view_submission(FORM)(ears.answered)
        app.block_suggestion(ARGUMENT)(ears.options)

    async def take(self, payload: Json) -> Json | None:
        """Hand a payload to its listener. What goes out with the acknowledgement, empty for nothing; None: it is not to
        be acknowledged. Until the listener is called this waits for nothing, so that who comes first is heard first."""
        try:
            response = await self._app.async_dispatch(AsyncBoltRequest(body=dict(payload), mode="socket_mode"))
        except _SPOILED as fault:  # what a listener raises, Bolt catches
            response = _unread(fault)
        if response.status == HTTPStatus.BAD_REQUEST:
            return await self._heard_anyway(payload)
        if response.status == HTTPStatus.NOT_FOUND:
            return {}
        answer = json.loads(response.body or "{}") if response.status == HTTPStatus.OK else None
        return answer if isinstance(answer, dict) else None

    async def _heard_anyway(self, payload: Json) -> Json | None:
        """What people say is heard also where Bolt can't make sense of what Slack tells about it."""
        try:
            if event_of(payload):
                await self._ears.message(payload)
        except NotTaken:
            return None
        return {}

    async def _failed(self, error: Exception, context: AsyncBoltContext) -> BoltResponse:
        if isinstance(error, NotTaken):
            return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE)
        if _REACHED not in context:
            return _unread(error)
        _LOG.error("slack's payload can't be taken", extra={"bot": self._ears.us.bot}, exc_info=error)
        return BoltResponse(status=HTTPStatus.INTERNAL_SERVER_ERROR)


async def _authorize() -> AuthorizeResult:
    """Asks nothing of Slack."""
    return AuthorizeResult(enterprise_id=None, team_id=None)


async def _reach(context: AsyncBoltContext) -> None:
    """A listener was found: what fails from there on is ours, and the payload is not dropped for it."""
    context[_REACHED] = True


def _unread(fault: Exception) -> BoltResponse:
    """Not to be acknowledged it would come again and again."""
    _LOG.warning("slack's payload can't be read", extra={"why": type(fault).__name__})
    return BoltResponse(status=HTTPStatus.BAD_REQUEST)
