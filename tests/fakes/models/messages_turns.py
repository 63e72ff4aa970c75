"""What turns of POST /v1/messages owe each other: results to calls, and thinking blocks to what came before them.

Sources: https://docs.claude.com/en/docs/agents-and-tools/tool-use ("tool result blocks must immediately follow", "must
come first in the content array") and https://platform.claude.com/docs/en/build-with-claude/preserved-thinking.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from tests.fakes.models.anthropic_errors import bad
from tests.fakes.models.dialect import ApiError
from tests.fakes.models.messages_parameters import BINDING_BETA
from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object, as_text
from tests.fakes.models.seal import binds, difference, is_ours, prefix_of

DROP = "drop_block"


def check_turns(turns: list[JsonObject], body: JsonObject, headers: Mapping[str, str]) -> tuple[str, ...]:
    """Raises `ApiError`. `turns`: the messages, each with its content as a list of blocks.

    Returns the places of the thinking blocks that are dropped, as the request asks.
    """
    _check_unique(turns)
    owed: list[str] = []
    for index, turn in enumerate(turns):
        owed = _check_turn(turn, index, owed, merges=index > 0 and turns[index - 1]["role"] == turn["role"])
    if owed:
        raise _unanswered(len(turns) - 1, owed)
    return _check_thinking(turns, body, headers)


def _check_unique(turns: list[JsonObject]) -> None:
    seen: set[str] = set()
    for index, turn in enumerate(turns):
        for place, block in enumerate(_blocks(turn)):
            if block["type"] == "tool_use" and as_text(block["id"]) in seen:
                raise bad(f"messages.{index}.content.{place}: `tool_use` ids must be unique")
            if block["type"] == "tool_use":
                seen.add(as_text(block["id"]))


def _check_turn(turn: JsonObject, index: int, owed: list[str], *, merges: bool) -> list[str]:
    """The ids of the calls that the next turn owes a result."""
    blocks = _blocks(turn)
    if turn["role"] == "assistant":
        if owed and not merges:
            raise _unanswered(index - 1, owed)
        return [*(owed if merges else []), *(as_text(one["id"]) for one in blocks if one["type"] == "tool_use")]
    results = [as_text(block["tool_use_id"]) for block in blocks if block["type"] == "tool_result"]
    first = next((place for place, block in enumerate(blocks) if block["type"] != "tool_result"), len(blocks))
    _check_known(blocks, index, owed)
    if twice := [one for one, count in Counter(results).items() if count > 1]:
        words = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
        raise bad(f"messages.{index}.content: {words}: {twice[0]}")
    if missing := [one for one in owed if one not in results[:first]]:
        raise _unanswered(index - 1, missing)
    return []


def _check_known(blocks: list[JsonObject], index: int, owed: list[str]) -> None:
    for place, block in enumerate(blocks):
        if block["type"] == "tool_result" and as_text(block["tool_use_id"]) not in owed:
            words = (
                f"unexpected `tool_use_id` found in `tool_result` blocks: {block['tool_use_id']}. Each `tool_result` "
                "block must have a corresponding `tool_use` block in the previous message."
            )
            raise bad(f"messages.{index}.content.{place}: {words}")


def _unanswered(index: int, ids: list[str]) -> ApiError:
    words = (
        f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(ids)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )
    return bad(f"messages.{index}: {words}")


def _check_thinking(turns: list[JsonObject], body: JsonObject, headers: Mapping[str, str]) -> tuple[str, ...]:
    behavior = as_object(as_object(body.get("thinking")).get("block_binding")).get("prefix_mismatch_behavior")
    dropped: list[str] = []
    for index, place, block in _thoughts(turns):
        at = f"messages.{index}.content.{place}"
        if block["type"] == "redacted_thinking":
            raise bad(f"{at}: Invalid `data` in `redacted_thinking` block")
        if not is_ours(as_text(block["thinking"]), as_text(block["signature"])):
            raise bad(f"{at}: Invalid `signature` in `thinking` block")
        if not binds(as_text(body["model"])):
            continue
        content: list[JsonValue] = as_list(turns[index]["content"])[:place]
        changed = difference(as_text(block["signature"]), prefix_of(body, [*turns[:index], _said(content)]))
        if changed is not None and behavior != DROP:
            raise bad(f"{at}: {_binding_words(headers)}{changed}")
        if changed is not None or dropped:
            dropped.append(at)
    return tuple(dropped)


def _thoughts(turns: list[JsonObject]) -> Iterator[tuple[int, int, JsonObject]]:
    for index, turn in enumerate(turns):
        for place, block in enumerate(_blocks(turn)):
            if block["type"] in ("thinking", "redacted_thinking"):
                yield index, place, block


def _said(content: list[JsonValue]) -> JsonObject:
    return {"role": "assistant", "content": content}


def _binding_words(headers: Mapping[str, str]) -> str:
    words = (
        "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, "
        f'or set `thinking.block_binding.prefix_mismatch_behavior` to "{DROP}".'
    )
    if BINDING_BETA in headers.get("anthropic-beta", ""):
        return words
    return f"{words} That setting requires the `{BINDING_BETA}` value in the `anthropic-beta` header."


def _blocks(turn: JsonObject) -> list[JsonObject]:
    return [as_object(block) for block in as_list(turn["content"])]
