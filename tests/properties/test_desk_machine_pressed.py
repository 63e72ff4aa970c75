"""The desk as a state machine, with buttons: old ones, other people's, pressed twice, told twice, over restarts and
deaths. Whatever is pressed, each button counts at most once and for its own person only."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from core.store import buttons, inbox
from core.vocabulary import Press, Receipt, Verdict
from tests.flow.house import GROUP, House
from tests.flow.pressing_bot import DRAFTING, WITH_BUTTONS, ButtonBot, button_bot, press_of
from tests.properties.test_desk_machine import PEOPLE, DeskMachine

BACK = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5])
"""Which one, counted from the last. What there is may differ from run to run, so that no draw depends on it."""


class PressingMachine(DeskMachine):
    def __init__(self) -> None:
        super().__init__()
        self.presses: list[tuple[Press, Receipt]] = []
        self.counted: Counter[str] = Counter()
        """How often a press of each button was accepted as something new."""

    def furnished(self, state: Path, options: dict[str, object]) -> House:
        self.manners: dict[str, object] = {"stop_button": True}
        return House(state, {**options, "bots": {"main": self.manners}}, (ButtonBot(),))

    def shown(self) -> list[tuple[str, str]]:
        """(chat, data) of every button that anybody ever saw, in the order in which their messages came."""
        bot = button_bot(self.house)
        chats = {message.id: chat for chat, messages in bot.chats.items() for message in messages}
        return [
            (chats[message], button.data)
            for message, rows in bot.were.items()
            for button in dict.fromkeys(one for row in rows for one in row)
        ]

    @rule(
        user=st.sampled_from(PEOPLE),
        group=st.booleans(),
        what=st.sampled_from(["question", "growing", "reset"]),
        times=st.integers(0, 2),
    )
    def something_with_buttons(self, user: str, group: bool, what: str, times: int) -> None:
        """A question, an answer that grows, or a session that has ended; its buttons are pressed so many times."""
        match what:
            case "question":
                self._say(user, "suspend", group=group)
            case "growing":
                self._say(user, "wait", group=group)
                self.run(self._pass(3.0))
            case _:
                self._say(user, "echo", group=group)
                self.run(self.house.clock.leap(2 * 3600))
                self._say(user, "wait", group=group)
        shown = self.shown()
        for chat, button in shown[-times:] if times and shown else ():
            self._press(press_of(self.house, button, user=user, chat=chat))

    @rule(back=BACK, user=st.sampled_from(PEOPLE), own=st.sampled_from([True, True, True, False]))
    def press(self, back: int, user: str, own: bool) -> None:
        """By the one whose direct chat it is or anybody, there or elsewhere."""
        if len(shown := self.shown()) <= back:
            return
        chat, button = shown[-1 - back]
        who = chat if own and chat != GROUP else user
        self._press(press_of(self.house, button, user=who, chat=chat if own else GROUP))

    def _press(self, press: Press) -> None:
        meant = self.run(self.house.store.read(lambda tx: buttons.find(tx, press.data)))
        (receipt,) = self.run(self.house.receive(press))
        self._pressed(press, receipt)
        self.run(self.house.idle())
        if receipt.verdict is Verdict.ACCEPTED:
            assert meant is not None
            assert (meant.identity, meant.chat) == (f"telegram:{press.sender.user}", press.address.chat)

    def _pressed(self, press: Press, receipt: Receipt) -> None:
        self.presses.append((press, receipt))
        self.counted[press.data] += receipt.verdict is Verdict.ACCEPTED

    @rule(back=BACK)
    def press_told_again(self, back: int) -> None:
        if len(self.presses) <= back:
            return
        press, before = self.presses[-1 - back]
        if self.run(self.house.store.read(lambda tx: inbox.kept(tx, before.row))) is None:
            return
        (receipt,) = self.run(self.house.receive(press))
        self.run(self.house.idle())
        assert (receipt.verdict, receipt.row) == (Verdict.DUPLICATE, before.row)

    @rule(back=BACK, writes=st.integers(1, 6), before=st.booleans())
    def die_pressing(self, back: int, writes: int, before: bool) -> None:
        """The process dies some writes after a press; the platform offers it again."""
        if len(shown := self.shown()) <= back:
            return
        chat, button = shown[-1 - back]
        press = press_of(self.house, button, user="7" if chat == GROUP else chat, chat=chat)

        async def episode() -> None:
            house = self.house
            house.store.dies_at, house.store.dies_before = house.store.writes + writes, before
            offering = asyncio.ensure_future(house.receive(press))
            await house.idle_dead()
            offering.cancel()
            await asyncio.gather(offering, return_exceptions=True)
            await house.restart()
            (receipt,) = await house.receive(press)
            await house.idle()
            kept = await house.store.read(lambda tx: inbox.kept(tx, receipt.row))
            assert kept is not None
            commanded = receipt.verdict is Verdict.DUPLICATE and kept.conversation is not None
            first = receipt if not commanded else Receipt(verdict=Verdict.ACCEPTED, row=receipt.row)
            self._pressed(press, first)

        self.run(episode())

    @rule()
    def another_configuration(self) -> None:
        """The next process has a button to stop, or drafts."""
        self.manners["stop_button"] = not self.manners["stop_button"]
        button_bot(self.house).capabilities = WITH_BUTTONS if self.manners["stop_button"] else DRAFTING
        self.run(self.house.restart())

    @invariant()
    def each_button_counts_once(self) -> None:
        assert all(times <= 1 for times in self.counted.values()), self.counted


TestPressing = PressingMachine.TestCase
TestPressing.settings = settings(
    max_examples=int(os.environ.get("DESK_EXAMPLES", "20")),
    stateful_step_count=40,
    deadline=None,
    derandomize="DESK_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
