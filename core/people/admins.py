"""Who runs a chat, as the platform says; its answer is kept for minutes."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from core.errors import BotError
from core.ports import Bot, Clock, KnowsAdmins
from core.vocabulary import BotName, ChatId, UserId

log = structlog.get_logger("frontdesk.people")

KEPT_S = 300.0
MOST = 10_000


class KnownAdmins:
    """No answer, or a platform without such people, counts as no."""

    def __init__(self, bots: Mapping[BotName, Bot], clock: Clock) -> None:
        self._bots = bots
        self._clock = clock
        self._kept: dict[tuple[BotName, ChatId, UserId], tuple[float, bool]] = {}

    async def is_admin(self, bot: BotName, chat: ChatId, user: UserId) -> bool:
        now = self._clock.monotonic()
        kept = self._kept.get((bot, chat, user))
        if kept is not None and now - kept[0] < KEPT_S:
            return kept[1]
        known = self._bots.get(bot)
        if known is None or not isinstance(known, KnowsAdmins):
            return False
        try:
            answer = await known.is_admin(chat, user)
        except BotError as error:
            log.warning("admin_not_known", bot=bot, why=str(error))
            return False
        if len(self._kept) >= MOST:
            self._kept.clear()
        self._kept[bot, chat, user] = (now, answer)
        return answer
