"""The table of buttons, played: everything is asked for, people become what they are, and press."""

from __future__ import annotations

from typing import Final

from sqlalchemy import text as verbatim

from core.service.notices import ENGLISH
from core.store.sql import Sql
from tests.drivers.driver import Button, Saying
from tests.wire.access_play import Play
from tests.wire.access_seen import BUTTON_OF, HOME_RESUME, LET_IN, Part, Seen

RESET_SOON: Final = """
[session]
sweep_s = 0.2
[session.reset]
mode = "idle"
idle_minutes = 0.02
"""
_ASKED_OF_OWNERS: Final = ENGLISH["consent_owner_asked"].partition(" (")[0]
_HOW: Final = "with several"
_ROLES: Final = {"u": "user", "g": "guest", "b": "blocked"}
_GOING_ON: Final = Sql(
    verbatim("""
        SELECT conversations.chat FROM conversations JOIN sessions ON sessions.id = conversations.session_id
        WHERE sessions.ended_at IS NULL
    """)
)


def press_all(play: Play) -> list[Seen]:
    """A play that was furnished with `RESET_SOON`."""
    parts = play.parts
    for part in parts:
        _others_begin(play, part)
    play.settle([])  # else what the next one says in the same place is answered together with it
    for part in parts:
        _begin(play, part)
    play.settle([])
    over = {part.room.chat for part in parts if _is_resumed(part)}
    play.wait(lambda: not over & _going_on(play), "conversations end")
    for part in parts:
        _go_on(play, part)
    play.settle([])
    play.wait(lambda: all(_is_there(play, part) for part in parts), "buttons")
    for part in parts:
        if part.begins_as != part.cell.role and part.cell.role in _ROLES:
            play.verb("people.role", id=part.who.identity, role=_ROLES[part.cell.role])
    play.note(parts)
    for part in parts:
        _press(play, part)
    play.settle(parts)
    return play.see()


def _is_resumed(part: Part) -> bool:
    return "Resume" in part.cell.kind


def _others_begin(play: Play, part: Part) -> None:
    """In a group that others talk in somebody else is answered first."""
    driver, place = play.driver, part.cell.place
    if part.one_s_own and (place == "ours" or (place == "listed" and not driver.a_thread_each)):
        driver.say(part.room, play.host, Saying(text=f"fast {part.others}", named=True))


def _begin(play: Play, part: Part) -> None:
    """Whoever the button is to be for begins."""
    word = "pay" if "llow" in part.cell.kind else "fast"
    by = part.who if part.one_s_own else play.host
    play.driver.say(part.room, by, Saying(text=f"{word} {part.asked}", named=True))


def _going_on(play: Play) -> set[str]:
    with play.daemon.reading() as tx:
        return {row.text("chat") for row in tx.all(_GOING_ON)}


def _go_on(play: Play, part: Part) -> None:
    """What brings the button, where the beginning did not."""
    driver = play.driver
    if part.cell.kind == LET_IN:
        stranger = driver.person(part.others)
        part.scene, part.original = driver.direct(stranger), stranger.id
        play.beside.add(part.scene.chat)
        driver.say(part.scene, stranger, Saying(text="let me in"))
    elif part.cell.kind == HOME_RESUME:
        driver.look(part.room, part.who, "home")
    elif _is_resumed(part):
        by = part.who if part.one_s_own else play.host
        driver.say(part.room, by, Saying(text=f"fast {part.before}", named=True))


def _is_there(play: Play, part: Part) -> bool:
    if part.cell.kind == HOME_RESUME:
        return bool(play.driver.choices(part.room, part.who, "home"))
    return bool(_buttons(play, part))


def _press(play: Play, part: Part) -> None:
    if part.cell.kind == HOME_RESUME:
        play.driver.press_at_home(part.who)
    else:
        play.driver.press(part.room, part.who, _buttons(play, part)[-1])


def _buttons(play: Play, part: Part) -> list[Button]:
    """Of the label, under the words about who wants to be let in; an owner's direct chat has questions of guests, too,
    and what is asked of its own person reads otherwise."""
    label, within = BUTTON_OF[part.cell.kind.partition(":")[0]], part.original
    if "llow" in part.cell.kind:
        guest = part.one_s_own and part.cell.role in ("g", "s")
        within = _ASKED_OF_OWNERS if guest else _HOW
    return play.driver.buttons(part.room, label, within=within)
