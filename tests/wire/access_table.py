"""Who may do what where: every kind of inbound and every command, by every role, in every place.

    o owner  u user  g guest (known, and no more)  s stranger  b blocked  x another bot, or no person at all

    direct    a direct chat, where `direct` is "pairing"
    listed    a listed group, in which somebody else was answered last
    unlisted  a group that is not listed
    ours      a thread of a listed group in which the bot talks with somebody else
    other     a thread of a listed group in which it was never spoken to

What is heard:

    A the agent answers          C the command is carried out, or answered
    P the command is answered for that person alone, and nobody else there sees it
    V told that nobody listens   N told that this is not theirs to do
    X told that the button is over, or whose it is, and nothing happens
    K given a code               T told, for their eyes, that this is no place for it
    L shown what they may choose among
    E shown that there is nothing for them to choose among

What is not, so that nothing is sent and nothing is fetched:

    s a stranger who has a code  b blocked      r a bot      p no person
    u the group is not listed    a not addressed            e an edit of what has its fate
    0 nothing comes in at all    - there is no such thing there

An impostor is nobody, with all of an owner's that the platform lets anybody show. "named": the bot is mentioned.
Commands without a word after them do what they do then. "press": of Stop; the other buttons have a table of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

PLACES: Final = ("direct", "listed", "unlisted", "ours", "other")
DOORS: Final = ("allow", "open", "off")
ROLES: Final = "ougsbx"
HEARD: Final = "ACPVNXKTLE"
SILENT: Final = "sbrpuae0"

EVERYWHERE: Final = """
                        |   direct    |   listed    |  unlisted   |    ours     |    other    |
                        | o u g s b x | o u g s b x | o u g s b x | o u g s b x | o u g s b x |
words                   | A A A K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
words, named            | A A A K b r | A A A A b r | u u u u b r | A A A A b r | A A A A b r |
reply to the bot        | A A A s - - | A A A A b r | - - - - - - | A A A A b r | - - - - - - |
/help, named            | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/start, named           | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/commands, named        | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/reset, named           | C C C K b r | C N N N b r | u u u u b r | C N N N b r | C C C C b r |
/new, named             | C C C K b r | C N N N b r | u u u u b r | C N N N b r | C C C C b r |
/reset words, named     | A A A K b r | A N N N b r | u u u u b r | A N N N b r | A A A A b r |
/resume, named          | C C C K b r | C N N N b r | u u u u b r | C N N N b r | C C C C b r |
/sessions, named        | C C C K b r | P P P P b r | u u u u b r | P P P P b r | P P P P b r |
/title, named           | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/status, named          | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/stop, named            | C C C K b r | C N N N b r | u u u u b r | C N N N b r | C C C C b r |
/retry, named           | C C C K b r | A N N N b r | u u u u b r | A N N N b r | C C C C b r |
/undo, named            | C C C K b r | C N N N b r | u u u u b r | C N N N b r | C C C C b r |
/clear, named           | C C C K b r | C N N N b r | u u u u b r | C N N N b r | C C C C b r |
/compact, named         | C C C K b r | C N N N b r | u u u u b r | C N N N b r | C C C C b r |
/model, named           | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/agent, named           | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/usage, named           | C C C K b r | P P P P b r | u u u u b r | P P P P b r | P P P P b r |
/export, named          | C C C K b r | P P P P b r | u u u u b r | P P P P b r | P P P P b r |
/whoami, named          | C C C K b r | P P P P b r | u u u u b r | P P P P b r | P P P P b r |
/again, named           | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/queue words, named     | A A A K b r | A A A A b r | u u u u b r | A A A A b r | A A A A b r |
/steer words, named     | A A A K b r | A A A A b r | u u u u b r | A A A A b r | A A A A b r |
/approve, named         | C C N K b r | C N N N b r | u u u u b r | C N N N b r | C C N N b r |
/deny, named            | C C C K b r | C N N N b r | u u u u b r | C N N N b r | C C C C b r |
/forget, named          | C C C K b r | P P P P b r | u u u u b r | P P P P b r | P P P P b r |
/version, named         | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/nosuch words, named    | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/status                 | C C C K b r | C C C C b r | u u u u b r | C C C C b r | C C C C b r |
/stop                   | C C C K b r | C N N N b r | u u u u b r | C N N N b r | C C C C b r |
/nosuch words           | C C C K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
menu: /status           | C C C K b - | C C C C b - | u u u u b - | C C C C b - | C C C C b - |
menu: /stop             | C C C K b - | C N N N b - | u u u u b - | C N N N b - | C C C C b - |
handed on: /stop words  | A A A K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
edit, named             | e e e e e e | e e e e e e | e e e e e e | e e e e e e | e e e e e e |
photo, named            | A A A K b r | A A A A b r | u u u u b r | A A A A b r | A A A A b r |
photo                   | A A A K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
file, named             | A A A K b r | A A A A b r | u u u u b r | A A A A b r | A A A A b r |
voice                   | V V V K b r | a a a a b r | u u u u b r | V V V V b r | a a a a b r |
sound                   | A A A K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
press: one's own        | C C C - - - | C C C C - - | - - - - - - | C C C C - - | C C C C - - |
press: somebody else's  | - - - - - - | X X X X X - | - - - - - - | X X X X X - | - - - - - - |
nobody: words, named    | - - - - - - | - - - - - p | - - - - - p | - - - - - p | - - - - - p |
nobody: /stop, named    | - - - - - - | - - - - - p | - - - - - p | - - - - - p | - - - - - p |
impostor: /stop, named  | - - - - - - | - - - - - p | - - - - - p | - - - - - p | - - - - - p |
channel: words, named   | - - - - - - | - - - - - p | - - - - - p | - - - - - p | - - - - - p |
linked: words, named    | - - - - - - | - - - - - 0 | - - - - - 0 | - - - - - 0 | - - - - - 0 |
comes and goes          | - - - - - - | 0 0 0 0 0 0 | 0 0 0 0 0 0 | - - - - - - | - - - - - - |
puts the bot out and in | 0 0 0 0 0 - | 0 0 0 0 0 - | 0 0 0 0 0 - | - - - - - - | - - - - - - |
reaction                | 0 0 0 - - - | 0 0 0 0 0 0 | - - - - - - | 0 0 0 0 0 0 | - - - - - - |
"""

TELEGRAM: Final = """
menu: /status           | - - - - - - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
menu: /stop             | - - - - - - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
"""
"""What people pick from the menu comes as typed."""

DISCORD: Final = """
nobody: words, named    | - - - - - - | - - - - - r | - - - - - r | - - - - - r | - - - - - r |
nobody: /stop, named    | - - - - - - | - - - - - r | - - - - - r | - - - - - r | - - - - - r |
impostor: /stop, named  | - - - - - - | - - - - - r | - - - - - r | - - - - - r | - - - - - r |
channel: words, named   | - - - - - - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
linked: words, named    | - - - - - - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
puts the bot out and in | - - - - - - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
"""
"""A webhook is nobody. A bot leaves a whole server, not a channel."""

SLACK: Final = """
reply to the bot        | - - - - - - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
/reset, named           | C C C K b r | C C C C b r | u u u u b r | C N N N b r | C C C C b r |
/new, named             | C C C K b r | C C C C b r | u u u u b r | C N N N b r | C C C C b r |
/reset words, named     | A A A K b r | A A A A b r | u u u u b r | A N N N b r | A A A A b r |
/resume, named          | C C C K b r | C C C C b r | u u u u b r | C N N N b r | C C C C b r |
/stop, named            | C C C K b r | C C C C b r | u u u u b r | C N N N b r | C C C C b r |
/retry, named           | C C C K b r | C C C C b r | u u u u b r | A N N N b r | C C C C b r |
/undo, named            | C C C K b r | C C C C b r | u u u u b r | C N N N b r | C C C C b r |
/clear, named           | C C C K b r | C C C C b r | u u u u b r | C N N N b r | C C C C b r |
/compact, named         | C C C K b r | C C C C b r | u u u u b r | C N N N b r | C C C C b r |
/approve, named         | C C N K b r | C C N N b r | u u u u b r | C N N N b r | C C N N b r |
/deny, named            | C C C K b r | C C C C b r | u u u u b r | C N N N b r | C C C C b r |
/stop                   | C C C K b r | C C C C b r | u u u u b r | C N N N b r | C C C C b r |
menu: /status           | C C C K b - | C C C C b - | T T T T b - | - - - - - - | - - - - - - |
menu: /stop             | C C C K b - | T T T T b - | T T T T b - | - - - - - - | - - - - - - |
press: one's own        | C C C - - - | C C C C - - | - - - - - - | C C C C - - | - - - - - - |
nobody: words, named    | - - - - - - | - - - - - r | - - - - - r | - - - - - r | - - - - - r |
nobody: /stop, named    | - - - - - - | - - - - - r | - - - - - r | - - - - - r | - - - - - r |
impostor: /stop, named  | - - - - - - | - - - - - r | - - - - - r | - - - - - r | - - - - - r |
channel: words, named   | - - - - - - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
linked: words, named    | - - - - - - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
puts the bot out and in | - - - - - - | 0 0 0 0 0 - | 0 0 0 0 0 - | - - - - - - | - - - - - - |
"""
"""A mention in a channel begins a thread of its own, in which nobody else was answered. A slash command is not typed in
threads, and is about one's own; whom it is not for is told so, unless blocked; "bot_message" is nobody; replies are
threads; and what a thread began with comes along, which this agent can't hold."""

ON: Final[Mapping[str, str]] = {"telegram": TELEGRAM, "discord": DISCORD, "slack": SLACK}

ONLY_TELEGRAM: Final = """
sticker                 | A A A K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
location                | A A A K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
venue                   | A A A K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
contact                 | A A A K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
dice                    | A A A K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
"""

ONLY_DISCORD: Final = """
sticker                 | A A A K b r | a a a a b r | u u u u b r | A A A A b r | a a a a b r |
asks about it           | A A A 0 0 - | A A A A 0 - | 0 0 0 0 0 - | A A A A 0 - | A A A A 0 - |
types /resume           | L L L E E - | L L L L E - | E E E E E - | L L L L E - | L L L E E - |
types /model            | L L E E E - | L L E E E - | E E E E E - | L L E E E - | L L E E E - |
types /agent            | L L L E E - | L L L L E - | E E E E E - | L L L L E - | L L L L E - |
"""
"""By the menu of a message only those are asked for a question who would be heard, and so it is with what completes an
argument; a guest chooses no model. A stranger in a direct chat has a code by then; in a thread where nobody knows one
there is nothing to go back to."""

ONLY_SLACK: Final = """
asks about it           | A A A s b - | A A A K b - | A A A K b - | A A A K b - | A A A K b - |
opens Home              | L L L E E - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
opens the assistant     | L L L 0 0 - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
words to the assistant  | A A A K b - | - - - - - - | - - - - - - | - - - - - - | - - - - - - |
"""
"""What somebody asks about by the menu of a message is answered in their direct chat, as if they had handed it on
there, and nowhere else. The assistant is a thread of that chat; whom it does not hear it suggests nothing."""

ONLY: Final[Mapping[str, str]] = {"telegram": ONLY_TELEGRAM, "discord": ONLY_DISCORD, "slack": ONLY_SLACK}
"""What the others have not."""

OTHER_DOORS: Final = """
                        | allow       | open        | off         |
                        | o u g s b x | o u g s b x | o u g s b x |
words                   | A A A n b r | A A A A b r | d d d d b r |
/stop                   | C C C n b r | C C C C b r | d d d d b r |
photo                   | A A A n b r | A A A A b r | d d d d b r |
"""
"""Direct chats where `direct` is something else; also silent: n is not in `allow`, d the bot takes none."""

OTHER_DOORS_ON: Final[Mapping[str, str]] = {
    "telegram": "",
    "discord": """
asks about it           | A A A 0 0 - | A A A A 0 - | 0 0 0 0 0 - |
types /agent            | L L L E E - | L L L L E - | E E E E E - |
""",
    "slack": """
asks about it           | A A A n b - | A A A A b - | d d d d b - |
opens Home              | L L L E E - | L L L L E - | E E E E E - |
opens the assistant     | L L L 0 0 - | L L L L 0 - | 0 0 0 0 0 - |
""",
}

BUTTON_PLACES: Final = ("direct", "listed", "ours")
BUTTONS: Final = """
                             |   direct    |   listed    |    ours     |
                             | o u g s b x | o u g s b x | o u g s b x |
Allow: one's own             | C C - - X - | C C - - X - | C C - - X - |
Allow: somebody else's       | - - - - - - | C X X X X - | C X X X X - |
Don't allow: one's own       | C C C - X - | C C C C X - | C C C C X - |
Don't allow: somebody else's | - - - - - - | C X X X X - | C X X X X - |
Resume: one's own            | C C C - X - | C C C C X - | C C C C X - |
Resume: somebody else's      | - - - - - - | X X X X X - | X X X X X - |
Let in                       | C X X - X - | - - - - - - | - - - - - - |
"""
"""Under a question that waits for somebody's word, under the announcement that a new conversation began, and in the
chats of owners under the name of a stranger. Roles are those at the press: who is blocked was let in before, and all
who press "Let in" were owners then. Whoever was not let in has no button to allow their own call, but one to deny it:
the owners are asked. An owner answers for anybody."""

BUTTONS_ON: Final[Mapping[str, str]] = {
    "telegram": "",
    "discord": "",
    "slack": """
Resume: one's own            | C C C - X - | - - - - - - | C C C C X - |
Resume: somebody else's      | - - - - - - | - - - - - - | X X X X X - |
Home: Resume                 | C C C - b - | - - - - - - | - - - - - - |
""",
}
"""On Slack each question at the top of a channel begins a thread, where nothing was before."""

REASONS: Final[Mapping[tuple[str, str], str]] = {
    ("refused", "stranger"): "s",
    ("refused", "stranger_waits"): "s",
    ("ignored", "blocked"): "b",
    ("ignored", "bot"): "r",
    ("ignored", "not_a_person"): "p",
    ("ignored", "group_not_listed"): "u",
    ("ignored", "not_addressed"): "a",
    ("ignored", "edit"): "e",
    ("ignored", "not_allowed"): "n",
    ("ignored", "direct_off"): "d",
}
"""The fate and the reason that a silent letter stands for."""

EXPLAINED: Final[Mapping[str, str]] = {
    "s": "was not let in",
    "b": "is blocked",
    "r": "another bot",
    "p": "no person",
    "u": "not listed in the bot's `groups`",
    "a": "not meant for the bot",
    "e": "is the edit of a message",
    "n": "not in [access] allow",
    "d": "takes no direct messages",
}
"""What `explain` says of it."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """`place` is one of PLACES, or a way in of `OTHER_DOORS`."""

    kind: str
    place: str
    role: str
    expected: str

    def __str__(self) -> str:
        return f"{self.kind} / {self.place} / {self.role}"


def rows_of(table: str) -> Mapping[str, list[str]]:
    """The cells of each row, place by place, by the row's name. The table's head is left out."""
    found = {}
    for line in table.strip("\n").splitlines():
        kind, *cells = (part.strip() for part in line.rstrip("| ").split("|"))
        if kind:
            found[kind] = [cell.replace(" ", "") for cell in cells]
    return found


def cells_of(table: Mapping[str, list[str]], places: tuple[str, ...] = PLACES) -> Iterator[Cell]:
    """Each thing that there is."""
    for kind, cells in table.items():
        placed = zip(places, cells, strict=True)
        letters_of = [(place, *one) for place, letters in placed for one in zip(ROLES, letters, strict=True)]
        yield from (
            Cell(kind=kind, place=place, role=role, expected=letter)
            for place, role, letter in letters_of
            if letter != "-"
        )


def table_on(platform: str) -> list[Cell]:
    return list(cells_of({**rows_of(EVERYWHERE), **rows_of(ON[platform]), **rows_of(ONLY[platform])}))


def doors_on(platform: str) -> list[Cell]:
    return list(cells_of({**rows_of(OTHER_DOORS), **rows_of(OTHER_DOORS_ON[platform])}, DOORS))


def buttons_on(platform: str) -> list[Cell]:
    return list(cells_of({**rows_of(BUTTONS), **rows_of(BUTTONS_ON[platform])}, BUTTON_PLACES))
