"""Texts: how Slack escapes what people type, which tokens ping whom, and the rich_text block of a text.

Source: https://docs.slack.dev/messaging/formatting-message-text.
"""

import re
from collections.abc import Callable, Iterator

from tests.fakes.slack.model import JsonObject, JsonValue

MAX_TEXT = 40_000  # https://docs.slack.dev/reference/methods/chat.postMessage#truncating
BEST_TEXT = 4_000  # the same place: the most that is shown as one message; chat.update refuses more
MAX_MARKDOWN = 12_000  # https://docs.slack.dev/reference/methods/chat.postMessage#arg_markdown_text

_TYPED = re.compile(
    r"<(?:@[UW][A-Z0-9]+|#C[A-Z0-9]+(?:\|[^<>|]*)?|!subteam\^S[A-Z0-9]+|!(?:here|channel|everyone)"
    r"|(?:https?://|mailto:)[^<>|\s]+(?:\|[^<>]*)?)>"
    r"|(?<![\w/])@(?:here|channel|everyone)\b"
    r"|https?://[^\s<>|]+"
)
_TOKEN = re.compile(
    r"<(?:@(?P<user>[UW][A-Z0-9]+)(?:\|[^<>]*)?|#(?P<channel>[CG][A-Z0-9]+)(?:\|[^<>]*)?"
    r"|!subteam\^(?P<group>S[A-Z0-9]+)(?:\|[^<>]*)?|!(?P<range>here|channel|everyone)(?:\|[^<>]*)?"
    r"|(?P<url>(?:https?://|mailto:)[^<>|]+)(?:\|(?P<label>[^<>]*))?)>"
)
_BARE = re.compile(r"(?<![\w/])@(here|channel|everyone|group)\b")
_FENCE = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)

_STRAY = re.compile(
    r"<(?!@[UW][A-Z0-9]+[|>]|#[CG][A-Z0-9]+[|>]|!subteam\^S[A-Z0-9]+[|>]|!(?:here|channel|everyone)[|>]"
    r"|!date\^|[a-z][a-z0-9+.-]*:[^<>\s]+>|[a-z][a-z0-9+.-]*:[^<>\s|]+\|)"
)

NameOf = Callable[[str], str]


def escaped(text: str) -> str:
    """The three characters that Slack escapes."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def typed(text: str, channel_name: NameOf) -> str:
    """What an app is told of what a person typed: mentions, channels and links become tokens, the rest is escaped.

    `channel_name` says what stands after the bar of <#C1|name>.
    """
    parts: list[str] = []
    at = 0
    for match in _TYPED.finditer(text):
        parts += [escaped(text[at : match.start()]), _token(match[0], channel_name)]
        at = match.end()
    return "".join([*parts, escaped(text[at:])])


def _token(found: str, channel_name: NameOf) -> str:
    if found.startswith("@"):
        return f"<!{found[1:]}>"
    if not found.startswith("<"):
        return f"<{found.replace('&', '&amp;')}>"
    if found.startswith("<#"):
        channel_id = found[2:-1].partition("|")[0]
        return f"<#{channel_id}|{channel_name(channel_id)}>"
    return found


def pinged_by(text: str, *, bare: bool = False) -> frozenset[str]:
    """User ids, user group ids, and "here", "channel", "everyone". `bare`: @here without brackets counts as well."""
    found = {match["user"] or match["group"] or match["range"] or "" for match in _TOKEN.finditer(text)}
    if bare:
        found |= set(_BARE.findall(text))
    return frozenset(found - {""})


def rich_text(text: str, block_id: str) -> JsonObject:
    """The block that comes with what a person wrote in the client. `text` is in Slack's escaped form."""
    elements: list[JsonValue] = []
    at = 0
    for match in _FENCE.finditer(text):
        elements += _section(text[at : match.start()])
        code: JsonObject = {"type": "text", "text": unescaped(match[1])}
        elements.append({"type": "rich_text_preformatted", "border": 0, "elements": [code]})
        at = match.end()
    elements += _section(text[at:])
    return {"type": "rich_text", "block_id": block_id, "elements": elements}


def _section(text: str) -> list[JsonValue]:
    inline: list[JsonValue] = list(_inline(text))
    return [{"type": "rich_text_section", "elements": inline}] if inline else []


def _inline(text: str) -> Iterator[JsonObject]:
    at = 0
    for match in _TOKEN.finditer(text):
        if match.start() > at:
            yield {"type": "text", "text": unescaped(text[at : match.start()])}
        yield _element(match)
        at = match.end()
    if at < len(text):
        yield {"type": "text", "text": unescaped(text[at:])}


def _element(match: re.Match[str]) -> JsonObject:
    if match["user"]:
        return {"type": "user", "user_id": match["user"]}
    if match["channel"]:
        return {"type": "channel", "channel_id": match["channel"]}
    if match["group"]:
        return {"type": "usergroup", "usergroup_id": match["group"]}
    if match["range"]:
        return {"type": "broadcast", "range": match["range"]}
    body: JsonObject = {"type": "link", "url": unescaped(match["url"])}
    if match["label"]:
        body["text"] = unescaped(match["label"])
    return body


def stray_bracket(text: str) -> str:
    """What follows a "<" that begins no token, and so should have been escaped; empty if there is none."""
    found = _STRAY.search(text)
    return text[found.start() : found.start() + 30] if found is not None else ""


def mrkdwn_in(value: JsonValue) -> Iterator[str]:
    """The texts of all mrkdwn objects in blocks."""
    if isinstance(value, list):
        for one in value:
            yield from mrkdwn_in(one)
    elif isinstance(value, dict):
        if value.get("type") == "mrkdwn" and isinstance(value.get("text"), str):
            yield str(value["text"])
        for inner in value.values():
            yield from mrkdwn_in(inner)


def pinged_by_blocks(value: JsonValue) -> frozenset[str]:
    """Whom blocks ping: by mrkdwn and markdown texts, and by rich text elements. plain_text pings nobody."""
    if isinstance(value, list):
        return frozenset(target for one in value for target in pinged_by_blocks(one))
    if not isinstance(value, dict):
        return frozenset()
    kind, text = value.get("type"), value.get("text")
    if kind in {"mrkdwn", "markdown"} and isinstance(text, str):
        return pinged_by(text)
    found = {"user": value.get("user_id"), "usergroup": value.get("usergroup_id"), "broadcast": value.get("range")}
    target = found.get(kind) if isinstance(kind, str) else None
    below: list[JsonValue] = [
        one for name, one in value.items() if isinstance(one, dict | list) and name != "option_groups"
    ]
    return pinged_by_blocks(below) | (frozenset({target}) if isinstance(target, str) else frozenset())
