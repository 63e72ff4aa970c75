"""What is forgotten, what is kept, and that a session with work is never removed."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import text as verbatim

from core.store import chores, conversations, deliveries, entries, inbox, people, sessions, turns
from core.store.checks import check
from core.store.conversations import ConversationId
from core.store.engine import Store
from core.store.inbox import Fate
from core.store.people import Pairing
from core.store.sessions import Session
from core.store.sql import Sql, Tx, Value, to_us
from core.vocabulary import BotName, ChatId, ChatKind, DeliveryId, MessageId, Outcome, TurnId
from tests.contract.scenes import NOW, arrive, begin, converse, open_turn, reply, say


def _busy_session(tx: Tx) -> tuple[ConversationId, Session, TurnId]:
    """A session in the middle of a turn."""
    conversation = converse(tx)
    row = arrive(tx, conversation, "1")
    assert row is not None
    session = begin(tx, conversation, "s1")
    session = say(tx, session.id, "hello")
    turn = open_turn(tx, session)
    inbox.take(tx, [row], turn)
    return conversation, session, turn


async def _delete(store: Store, session: Session) -> bool:
    return await store.write(lambda tx: chores.delete_session(tx, session.id))


async def test_a_session_with_work_is_not_deleted(store: Store) -> None:
    conversation, session, turn = await store.write(_busy_session)
    assert not await _delete(store, session)
    await store.write(lambda tx: turns.close(tx, turn, Outcome.SUSPENDED, NOW, {}))
    assert not await _delete(store, session)

    def answer(tx: Tx) -> DeliveryId:
        turns.close(tx, turn, Outcome.DONE, NOW, {})
        inbox.finish_turn(tx, turn, NOW)
        return reply(tx, conversation, turn)

    delivery = await store.write(answer)
    assert not await _delete(store, session)
    await store.write(lambda tx: deliveries.sending(tx, delivery))
    assert not await _delete(store, session)
    await store.write(lambda tx: deliveries.sent(tx, delivery, MessageId("9"), NOW))
    row = await store.write(lambda tx: arrive(tx, conversation, "2"))
    assert row is not None
    assert not await _delete(store, session)
    await store.write(lambda tx: inbox.finish(tx, row, Fate.STALE, NOW))
    assert await store.read(check) == []
    assert await _delete(store, session)
    assert await store.read(check) == []


_LEFT = Sql(verbatim("SELECT text, turn_id FROM deliveries"))
_COUNT = {
    name: Sql(verbatim(f"SELECT count(*) FROM {name}"))
    for name in ("entries", "turns", "participants", "consents", "attachments", "sessions", "deletions")
}
_ATTACH = Sql(
    verbatim(
        "INSERT INTO attachments (session_id, entry_id, digest, name, media_type, size, created_at)"
        " SELECT session_id, id, 'd', 'n', 'text/plain', 1, 0 FROM entries WHERE seq = 1"
    )
)
_CONSENT = Sql(
    verbatim(
        "INSERT INTO consents (id, turn_id, call, bot, chat, asker, state, created_at, expires_at)"
        " VALUES (:id, :turn, 'c', 'telegram', '7', 'telegram:7', :state, 0, :expires)"
    )
)


async def test_deleting_a_session_leaves_nothing_that_was_said(store: Store) -> None:
    def scene(tx: Tx) -> tuple[ConversationId, Session, Session]:
        conversation, session, turn = _busy_session(tx)
        tx.run(_ATTACH)
        tx.run(_CONSENT, id="c1", turn=turn, state="closed", expires=0)
        turns.close(tx, turn, Outcome.DONE, NOW, {})
        inbox.finish_turn(tx, turn, NOW)
        delivery = reply(tx, conversation, turn)
        deliveries.sending(tx, delivery)
        deliveries.sent(tx, delivery, None, NOW)
        other = begin(tx, converse(tx, "8"), "s2", "telegram:8")
        return conversation, session, say(tx, other.id, "stays")

    conversation, session, other = await store.write(scene)
    assert await _delete(store, session)

    def look(tx: Tx) -> tuple[dict[str, int], list[tuple[str, str | None]]]:
        left = [(row.text("text"), row.text_or_none("turn_id")) for row in tx.all(_LEFT)]
        return {name: tx.number(sql) for name, sql in _COUNT.items()}, left

    counts, left = await store.read(look)
    assert counts == {
        "entries": 1, "turns": 0, "participants": 1, "consents": 0, "attachments": 0, "sessions": 1, "deletions": 0
    }  # fmt: skip
    assert left == [("", None)]
    assert [entry.text for entry in await store.read(lambda tx: entries.of_session(tx, other.id))] == ["stays"]
    found = await store.read(lambda tx: conversations.get(tx, conversation))
    assert (found.session, found.generation) == (None, 1)
    assert await store.read(check) == []
    with pytest.raises(LookupError):
        await _delete(store, session)


async def test_a_session_before_the_last_goes_while_the_last_works(store: Store) -> None:
    def scene(tx: Tx) -> tuple[Session, Session]:
        conversation = converse(tx)
        first = begin(tx, conversation, "s0")
        sessions.end(tx, first.id, "idle", NOW)
        row = arrive(tx, conversation, "1")
        assert row is not None
        second = say(tx, begin(tx, conversation, "s1").id, "hello")
        inbox.take(tx, [row], open_turn(tx, second))
        return first, second

    first, second = await store.write(scene)
    assert await _delete(store, first)
    assert not await _delete(store, second)
    assert await store.read(check) == []


async def _run(store: Store, now: datetime, most: int = 100) -> list[int]:
    return [
        await store.write(lambda tx, chore=chore: chore(tx, now, most))  # type: ignore[misc]
        for chore in chores.FORGETTING
    ]


_ANSWER = Sql(
    verbatim(
        "INSERT INTO idempotency (scope, key, digest, row_id, created_at, expires_at)"
        " VALUES ('web', :key, 'd', :row, 0, :expires)"
    )
)


async def test_everything_is_forgotten_in_its_time_and_not_before(store: Store) -> None:
    def scene(tx: Tx) -> None:
        conversation, _, turn = _busy_session(tx)
        inbox.finish_turn(tx, turn, NOW)
        turns.close(tx, turn, Outcome.DONE, NOW, {})
        delivery = reply(tx, conversation, turn)
        deliveries.sending(tx, delivery)
        deliveries.sent(tx, delivery, None, NOW)
        reply(tx, conversation, None, "waits")
        arrive(tx, conversation, "2")
        people.offer(
            tx,
            Pairing(
                code="c0de", identity="telegram:9", name="Eve", bot=BotName("telegram"), chat=ChatId("9"),
                kind=ChatKind.DIRECT, expires_at=NOW + timedelta(hours=1),
            ),
            NOW,
        )  # fmt: skip
        for state in ("open", "closed"):
            values: dict[str, Value] = {"id": state, "turn": turn, "state": state}
            tx.run(_CONSENT, expires=to_us(NOW + timedelta(minutes=15)), **values)
        tx.run(_ANSWER, key="k", row=1, expires=to_us(NOW + timedelta(days=9)))

    await store.write(scene)
    assert await _run(store, NOW) == [0, 0, 0, 0, 0, 0, 0, 0]
    minute = timedelta(minutes=1)
    assert await _run(store, NOW + timedelta(hours=1)) == [0, 0, 0, 0, 1, 0, 0, 0]
    assert await _run(store, NOW + timedelta(minutes=76)) == [0, 0, 0, 0, 0, 1, 0, 0]
    assert await _run(store, NOW + timedelta(days=1) + minute) == [0, 0, 1, 0, 0, 0, 0, 2]
    assert await _run(store, NOW + timedelta(days=1) + minute) == [0, 0, 0, 0, 0, 0, 0, 0]
    assert await _run(store, NOW + timedelta(days=8) + minute) == [0, 0, 0, 1, 0, 0, 0, 0], (
        "a kept answer holds its row"
    )
    assert await _run(store, NOW + timedelta(days=9)) == [1, 1, 0, 0, 0, 0, 0, 0]
    assert await _run(store, NOW + timedelta(days=1000)) == [0, 0, 0, 0, 0, 0, 0, 0], "what waits is kept for ever"
    assert await store.read(check) == []


async def test_chores_are_done_in_pieces(store: Store) -> None:
    def scene(tx: Tx) -> None:
        conversation = converse(tx)
        for i in range(25):
            row = arrive(tx, conversation, str(i))
            assert row is not None
            inbox.finish(tx, row, Fate.ANSWERED, NOW)

    await store.write(scene)
    later = NOW + timedelta(days=9)
    assert [(await _run(store, later, 10))[1] for _ in range(4)] == [10, 10, 5, 0]


async def test_s13_what_was_ignored_goes_after_a_day_in_pieces_and_nothing_else_does(store: Store) -> None:
    def scene(tx: Tx) -> None:
        conversation = converse(tx)
        for i in range(24):
            row = arrive(tx, conversation, str(i))
            assert row is not None
            inbox.finish(tx, row, Fate.IGNORED if i % 2 else Fate.ANSWERED, NOW)

    def left(tx: Tx) -> int:
        return tx.number(Sql(verbatim("SELECT count(*) FROM inbox")))

    await store.write(scene)
    day = timedelta(days=1)
    assert [(await _run(store, NOW + day, 10))[-1] for _ in range(2)] == [0, 0]
    later = NOW + day + timedelta(seconds=1)
    assert [(await _run(store, later, 10))[-1] for _ in range(4)] == [10, 10, 4, 0]
    assert await store.read(left) == 12
    assert await store.read(check) == []
