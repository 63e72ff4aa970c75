"""Commands that change nothing: answered at once from a snapshot, whatever runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from core.agents.registry import Agents
from core.desk import history
from core.desk.commands.effects import LISTED
from core.desk.commands.table import COMMANDS, parse
from core.service.notices import Notices
from core.store import conversations, entries, inbox, sessions, turns
from core.store.conversations import Conversation
from core.store.entries import Entry, Kind
from core.store.inbox import Waiting
from core.store.sessions import Session
from core.store.sql import Tx


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """An instant command. `conversation` is None where nobody has said anything yet."""

    row: Waiting
    now: datetime
    notices: Notices
    agents: Agents
    default_agent: str
    version: str

    def conversation(self, tx: Tx) -> Conversation | None:
        return conversations.get(tx, self.row.conversation) if self.row.conversation is not None else None

    def session(self, tx: Tx) -> Session | None:
        conversation = self.conversation(tx)
        if conversation is None or conversation.session is None:
            return None
        return sessions.get(tx, conversation.session)


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
    mine = sessions.of_person(tx, row.conversation, row.identity, LISTED)
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
    chosen = conversation.agent if conversation is not None else None
    agent = question.agents.spec(chosen, question.default_agent).name
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


def usage(tx: Tx, question: Question) -> str:
    session = question.session(tx)
    if session is None:
        return question.notices.say("no_session")
    counts = turns.usage_of(tx, session.id)
    used = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    used = used or question.notices.say("usage_nothing")
    return question.notices.say("usage", messages=session.messages, entries=session.head, used=used)


def export(tx: Tx, question: Question) -> str:
    session = question.session(tx)
    if session is None:
        return question.notices.say("no_session")
    say = question.notices.say
    blocks = [say("export_head", title=session.title or say("untitled"))]
    blocks += [_block(entry, say) for entry in history.for_people(entries.of_session(tx, session.id))]
    return "\n\n".join(blocks)


def _block(entry: Entry, say: Callable[..., str]) -> str:
    at = f"{entry.at:%Y-%m-%d %H:%M} UTC"
    match entry.kind:
        case Kind.USER:
            return f"{say('export_user', name=entry.sender or '', at=at)}\n\n{entry.text}"
        case Kind.ASSISTANT:
            return f"{say('export_assistant', at=at)}\n\n{entry.text}"
        case Kind.TOOL_CALL | Kind.TOOL_RESULT:
            return f"{say('export_tool', at=at)}\n\n{entry.text}"
        case _:
            return say("export_notice", text=entry.text)


def whoami(tx: Tx, question: Question) -> str:
    row = question.row
    return question.notices.say("whoami", name=row.name, identity=row.identity, role=row.role)


def version(tx: Tx, question: Question) -> str:
    return question.notices.say("version", version=question.version)


def unknown(tx: Tx, question: Question) -> str:
    parsed = parse(question.row.text)
    return question.notices.say("command_unknown", name=parsed.name if parsed is not None else "")


ANSWERS: dict[str, Callable[[Tx, Question], str]] = {
    "help": help_,
    "sessions": sessions_,
    "status": status,
    "usage": usage,
    "export": export,
    "whoami": whoami,
    "version": version,
    "unknown": unknown,
}
