"""A chat got another id: its session keys, where its conversations answer, and all that waits or runs there follow in
the same transaction. What holds an address in memory follows right after it.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from core.desk import keys
from core.desk.coalesce import Ref
from core.store import conversations, moves
from core.store.conversations import ConversationId
from core.store.deliveries import Posted
from core.store.sql import Tx
from core.store.turns import Turn
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


# what is held in memory


def address(held: Address, moved: Moved) -> Address:
    """No message of the old id is known under the new one."""
    if (held.bot, held.chat) != (moved.address.bot, moved.address.chat):
        return held
    return replace(held, chat=moved.to, reply_to=None)


def ref(held: Ref, moved: Moved) -> Ref:
    return replace(held, address=address(held.address, moved))


def turn(held: Turn, moved: Moved) -> Turn:
    return replace(held, address=address(held.address, moved))


def preview(held: Posted | None, moved: Moved) -> Posted | None:
    """None for one that stands under the old id: its row is gone, and the answer is sent anew."""
    there = None if held is None else address(held.address, moved)
    if held is None or there is None or there == held.address:
        return held
    return None if held.message is not None else replace(held, address=there)
