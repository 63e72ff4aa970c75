"""Long conversations: a summary stands, for the model, in place of older turns. The log keeps everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import structlog
from msgspec import Struct
from pydantic_ai import direct
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelRequest, UserPromptPart

from core.agents.faults import translate
from core.agents.files import pictures_in
from core.agents.inline_thinking import answer_in
from core.agents.providers import request_settings
from core.agents.role import Role
from core.agents.transcript import SUMMARY
from core.errors import ContextFull
from core.faultpoints import faultpoint
from core.store.entries import Entry, Json, Kind
from core.store.history import render

log = structlog.get_logger("frontdesk.agents")

CHARS_PER_TOKEN = 3
"""Characters that a token stands for, at the least, in English and most code; other scripts have fewer, and there the
provider's own count, which comes with every response, corrects it."""
PICTURE_TOKENS = 1_600
"""The most that a picture is worth which no provider scales down, https://docs.anthropic.com/en/docs/build-with-claude/vision
(width * height / 750). Others count less."""
PIECE_CHARS, LEAST_CHARS = 200_000, 4_000
"""What is summed up at once where the model's window is not known, and the least that is worth a try."""
TOOL_CHARS = 2_000
"""Of a tool's arguments or result that the summary is made from."""

TASK = """\
You sum up a conversation between people and an assistant, so that the assistant can go on from your summary alone.
Keep what was asked and decided, facts, names, numbers, file paths, promises, open questions, and how people want to be
answered. Leave out greetings and what was superseded. Write in the language of the conversation, in short paragraphs
or lists, without any preamble."""


class Summed(Struct, frozen=True, kw_only=True):
    """`text` stands for everything up to the seq `upto`; `counts` is what it cost, as in `Used`."""

    text: str
    upto: int
    counts: Mapping[str, int]


def is_due(history: Sequence[Entry], entries: Sequence[Entry], role: Role) -> bool:
    """Would this turn fill more of the model's window than it may?"""
    window = role.chosen.window
    if window is None or not history:
        return False
    return request_tokens(history, entries, role) > window * role.settings.context.compact_at


def request_tokens(history: Sequence[Entry], entries: Sequence[Entry], role: Role) -> int:
    """About how many tokens the next request of a turn has."""
    used = estimate([*history, *entries], sees=role.chosen.sees)
    return used + len(role.instructions) // CHARS_PER_TOKEN


def estimate(shown: Sequence[Entry], *, sees: bool) -> int:
    """About how many tokens these entries are: what the provider counted with its last response, and what came since.
    Counts from before the last compaction say nothing about what it left. `sees`: the model is shown pictures."""
    since = max((entry.seq for entry in shown if entry.kind is Kind.COMPACTION), default=0)
    tokens = 0
    for entry in shown:
        counted = _counted(entry) if entry.seq > since else 0
        tokens = counted or tokens + _size(entry) // CHARS_PER_TOKEN + 4 + PICTURE_TOKENS * sees * pictures_in(entry)
    return tokens


def _counted(entry: Entry) -> int:
    """Tokens of a whole request and its response, as the provider counted them; 0 if it did not."""
    response = entry.data.get("response")
    usage = response.get("usage") if isinstance(response, Mapping) else None
    if not isinstance(usage, Mapping):
        return 0
    return sum(count for name in ("input_tokens", "output_tokens") if isinstance(count := usage.get(name), int))


def _size(entry: Entry) -> int:
    """Characters, with those of files that came along."""
    said = render(entry) if entry.kind is Kind.USER else entry.text
    return len(said) + len(str(entry.data.get("arguments") or ""))


def older(history: Sequence[Entry], keep_turns: int) -> Sequence[Entry]:
    """What a summary may stand for: all turns but the last ones, of which at least half stay. Whole turns, so that no
    call is parted from its result."""
    starts = [i for i, entry in enumerate(history) if entry.kind is Kind.USER and _begins(history, i)]
    keep = min(keep_turns, len(starts) // 2)
    return history[: starts[-keep]] if keep else history


def _begins(history: Sequence[Entry], i: int) -> bool:
    return i == 0 or history[i - 1].turn != history[i].turn


async def sum_up(history: Sequence[Entry], role: Role, topic: str) -> Summed | None:
    """A summary of the older part of a history; None where there is none to be made, or none could be."""
    faultpoint("compaction.begun")
    past = older(history, role.settings.context.keep_turns)
    if not any(entry.kind is Kind.USER for entry in past):
        return None
    upto = max(entry.seq for entry in past if entry.kind is not Kind.COMPACTION)
    counts: dict[str, int] = {}
    try:
        text = await _summary(list(_told(past)), role, topic, counts)
    except Exception as fault:  # noqa: BLE001  # agent: a summary that fails changes nothing
        log.warning("compaction_failed", why=str(translate(fault, role.settings.secrets)))
        return None
    if not text.strip():
        log.warning("compaction_empty")
        return None
    return Summed(text=text.strip(), upto=upto, counts=counts)


async def _summary(told: Sequence[str], role: Role, topic: str, counts: dict[str, int]) -> str:
    """Piece by piece, each with the summary of those before it; smaller pieces where the model finds one too long."""
    window = role.chosen.window
    size = PIECE_CHARS if window is None else max(LEAST_CHARS, window * CHARS_PER_TOKEN // 2)
    while True:
        try:
            text = await _piece_by_piece(_pieces(told, size), role, topic, counts)
        except AgentRunError as fault:
            if not isinstance(translate(fault), ContextFull) or size <= LEAST_CHARS:
                raise
            size //= 2
        else:
            return text


async def _piece_by_piece(pieces: Iterable[str], role: Role, topic: str, counts: dict[str, int]) -> str:
    text = ""
    for piece in pieces:
        text = _bound(await _request(piece, text, role, topic, counts), len(piece))
        if not text.strip():
            break  # what was summed up before is lost with it
    return text


async def _request(piece: str, before: str, role: Role, topic: str, counts: dict[str, int]) -> str:
    ask = [f"{SUMMARY}\n\n{before}"] if before else []
    ask.append(f"The conversation:\n\n{piece}")
    if topic:
        ask.append(f"Pay most attention to: {topic}")
    settings = request_settings(role.settings)
    settings["request_timeout"] = role.settings.limits.first_token_s + role.settings.limits.silence_s
    response = await direct.model_request(
        role.chosen.model,
        [ModelRequest(parts=[UserPromptPart("\n\n".join(ask))], instructions=TASK)],
        model_settings=settings,
    )
    counts["requests"] = counts.get("requests", 0) + 1
    counts["input_tokens"] = counts.get("input_tokens", 0) + response.usage.input_tokens
    counts["output_tokens"] = counts.get("output_tokens", 0) + response.usage.output_tokens
    return answer_in(response.text or "")


def _told(past: Sequence[Entry]) -> Iterator[str]:
    """The entries as lines of a play."""
    for entry in past:
        match entry.kind:
            case Kind.USER:
                yield f"Person: {render(entry)}"
            case Kind.ASSISTANT:
                yield f"Assistant: {entry.text}"
            case Kind.TOOL_CALL:
                yield f"Assistant calls {entry.text}: {_short(entry.data.get('arguments'))}"
            case Kind.TOOL_RESULT:
                yield f"Result: {_short(entry.text)}"
            case Kind.COMPACTION:
                yield f"{SUMMARY} {entry.text}"
            case _:
                pass


def _short(given: Json) -> str:
    text = str(given or "")
    return text if len(text) <= TOOL_CHARS else f"{text[:TOOL_CHARS]}… ({len(text)} characters)"


def _bound(summary: str, most: int) -> str:
    """A summary that is longer than what it sums up would leave no room for anything else."""
    most = max(most, LEAST_CHARS) // 2
    return summary if len(summary) <= most else f"{summary[:most]}…"


def _pieces(told: Sequence[str], size: int) -> Iterator[str]:
    """The lines in pieces of at most `size` characters; a longer line is cut."""
    piece: list[str] = []
    length = 0
    for line in told:
        for part in (line[i : i + size] for i in range(0, len(line), size)):
            if piece and length + len(part) > size:
                yield "\n\n".join(piece)
                piece, length = [], 0
            piece.append(part)
            length += len(part) + 2
    if piece:
        yield "\n\n".join(piece)
