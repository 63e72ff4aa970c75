"""A chat got another id: its session keys, and where its conversations answer, follow in the same transaction."""

from __future__ import annotations

from datetime import datetime

from core.desk import keys
from core.store import conversations, moves
from core.store.conversations import ConversationId
from core.store.sql import Tx
from core.vocabulary import Address, Moved


def move(tx: Tx, moved: Moved, now: datetime) -> int:
    """Re-point every key of the old id; how many. What people said under the new one before we heard of the move stays
    reachable only if it is all there is: a conversation of some age wins over one that has just begun."""
    bot, was = moved.address.bot, moved.address.chat
    if was == moved.to:
        return 0
    moves.note(tx, bot, moved.to, was, now)
    moves.forward(tx, bot, was, moved.to)
    old = keys.group(moved.address)
    new = keys.group(Address(bot=bot, chat=moved.to))
    found = [pair for pair in moves.keys_below(tx, old) if pair[0] == old or pair[0].startswith(f"{old}/")]
    for key, conversation in found:
        _point(tx, key, new + key[len(old) :], conversation)
        moves.readdress(tx, conversation, moved.to)
    return len(found)


def _point(tx: Tx, key: str, to: str, conversation: ConversationId) -> None:
    there = conversations.find(tx, to)
    if there is None:
        moves.rename(tx, key, to)
        return
    conversations.lock(tx, there)
    moves.lead(tx, to, conversation)
