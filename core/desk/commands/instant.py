"""Commands that change nothing: answered at once from a snapshot, whatever runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from msgspec import Struct

from core.agents.registry import Agents
from core.desk.answering import Offer
from core.desk.commands.effects import LISTED, resumable
from core.desk.commands.table import COMMANDS, parse
from core.desk.days import day_start
from core.desk.export import first_said, markdown, shared_markdown
from core.service.notices import Notices
from core.store import conversations, entries, inbox, sessions, turns
from core.store.conversations import Conversation
from core.store.inbox import Waiting
from core.store.sessions import Session
from core.store.sql import Tx


class Question(Struct, frozen=True, kw_only=True):
    """An instant command. `conversation` is None where nobody has said anything yet. `shared`: others talk there, too;
    `runs`: the sender is an owner, or runs the chat."""

    row: Waiting
    now: datetime
    notices: Notices
    agents: Agents
    offer: Offer
    version: str
    zone: str
    shared: bool = False
    runs: bool = False

    def conversation(self, tx: Tx) -> Conversation | None:
        return conversations.get(tx, self.row.conversation) if self.row.conversation is not None else None

    def session(self, tx: Tx) -> Session | None:
        conversation = self.conversation(tx)
        if conversation is None or conversation.session is None:
            return None
        return sessions.sound(tx, conversation.session)


def help_(tx: Tx, question: Question) -> str:
    say = question.notices.say
    lines = [say("help_head")]
    for command in COMMANDS:
        hint = f" {command.hint}" if command.hint else ""
        lines.append("- " + say("help_line", name=command.name, hint=hint, summary=say(f"help_{command.name}")))
    return "\n".join(lines)


def sessions_(tx: Tx, question: Question) -> str:
    say = question.notices.say
    row, current = question.row, question.session(tx)
    mine = resumable(tx, row.conversation, row.identity, row.role)[:LISTED]
    if not mine:
        return say("sessions_none")
    lines = [say("sessions_head"), ""]
    for number, session in enumerate(mine, start=1):
        here = current is not None and session.id == current.id and session.ended_at is None
        lines.append(
            say(
                "sessions_line",
                number=number,
                title=session.title or say("untitled"),
                messages=session.messages,
                age=question.notices.age(question.now - session.touched_at),
                mark=say("sessions_current") if here else "",
            )
        )
    return "\n".join(lines)


def status(tx: Tx, question: Question) -> str:
    say = question.notices.say
    conversation, session = question.conversation(tx), question.session(tx)
    agent = _who_answers(question, conversation)
    if conversation is None or session is None or session.ended_at is not None:
        return say("status_none", agent=agent)
    return say(
        "status",
        title=session.title or say("untitled"),
        messages=session.messages,
        since=f"{session.started_at:%Y-%m-%d %H:%M} UTC",
        agent=agent,
        running=say("yes" if turns.running_in(tx, conversation.id) else "no"),
        waiting=inbox.waiting_in(tx, conversation.id, 1000) - (question.row.conversation is not None),
    )


def _who_answers(question: Question, conversation: Conversation | None) -> str:
    held = question.offer.holds(conversation, question.row.role) if conversation is not None else None
    agent, model = (held.agent, held.model) if held is not None else (None, None)
    spec = question.agents.spec(agent, question.offer.usual, model)
    return question.notices.say("agent_with_model", agent=spec.name, model=spec.model) if spec.model else spec.name


def usage(tx: Tx, question: Question) -> str:
    """The last answer, the conversation, and the asker's day everywhere."""
    say, session = question.notices.say, question.session(tx)
    lines: list[str] = []
    if session is not None:
        last, total = turns.usage_of_last(tx, session.id), turns.usage_of(tx, session.id)
        lines += [say("usage_last", used=_used(last, question.notices))] if last else []
        used = _used(total, question.notices) if total else say("usage_nothing")
        lines.append(say("usage", messages=session.messages, entries=session.head, used=used))
    since = day_start(question.now.astimezone(ZoneInfo(question.zone)))
    today = turns.usage_since(tx, question.row.identity, since)
    lines += [say("usage_today", used=_used(today, question.notices))] if today else []
    return "\n".join(lines) or say("no_session")


def _used(counts: Mapping[str, int], notices: Notices) -> str:
    """Counts in words. What nobody counted is left out."""
    say, left = notices.say, dict(counts)
    requests, given = left.pop("requests", 0), left.pop("input_tokens", 0)
    cached, made, cost = left.pop("cached_tokens", 0), left.pop("output_tokens", 0), left.pop("cost_micro_usd", 0)
    read = "usage_in_cached" if cached else "usage_in"
    said = [
        say("usage_requests", count=f"{requests:,}") if requests else "",
        say(read, count=f"{given:,}", cached=f"{cached:,}") if given else "",
        say("usage_out", count=f"{made:,}") if made else "",
        say("usage_cost", usd=_usd(cost)) if cost else "",
        *(say("usage_other", name=name, count=f"{count:,}") for name, count in sorted(left.items())),
    ]
    return ", ".join(words for words in said if words) + "."


def _usd(micro: int) -> str:
    """To a hundredth of a cent, and all digits below that."""
    return f"{micro / 1_000_000:,.4f}" if micro >= 100 else f"{micro / 1_000_000:.6f}"


class Transcript(Struct, frozen=True):
    """What is sent as a file, where the platform takes one."""

    text: str


def export(tx: Tx, question: Question) -> str | Transcript:
    """Among others what was said from the sender's first message on; all of it for who runs the chat, and owners."""
    session = question.session(tx)
    if session is None:
        return question.notices.say("no_session")
    log = entries.of_session(tx, session.id)
    if not question.shared:
        return Transcript(markdown(session, log, question.notices))
    since = 1 if question.runs else first_said(log, turns.by(tx, session.id, question.row.identity))
    if since is None:
        return question.notices.say("export_not_yours")
    return Transcript(shared_markdown(session, log, since, question.notices))


def whoami(tx: Tx, question: Question) -> str:
    row = question.row
    return question.notices.say("whoami", name=row.name, identity=row.identity, role=row.role)


def version(tx: Tx, question: Question) -> str:
    return question.notices.say("version", version=question.version)


def unknown(tx: Tx, question: Question) -> str:
    parsed = parse(question.row.text)
    return question.notices.say("command_unknown", name=parsed.name if parsed is not None else "")


ANSWERS: dict[str, Callable[[Tx, Question], str | Transcript]] = {
    "help": help_,
    "sessions": sessions_,
    "status": status,
    "usage": usage,
    "export": export,
    "whoami": whoami,
    "version": version,
    "unknown": unknown,
}
