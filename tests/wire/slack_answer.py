"""One answer of the Slack bot's that grows, as a lane and a preview would have it sent."""

from __future__ import annotations

from msgspec.structs import replace

from bots.slack.bot import SlackBot
from core.vocabulary import Address, Button, Delivery, MessageId
from tests.drivers.slack import shown
from tests.fakes.slack.model import Message as Shown
from tests.fakes.slack.model import Said
from tests.wire.slack_world import World

START, APPEND, END, UPDATE, POST = (
    "chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update", "chat.postMessage",
)  # fmt: skip


class Answer:
    """One answer that grows in a thread of the direct chat, or wherever."""

    def __init__(self, world: World, address: Address | None = None, bot: SlackBot | None = None) -> None:
        self.world = world
        self.bot = bot or world.bot
        self.root: Said | None = None
        if address is None:
            self.root = world.say("question")
            address = world.address(world.chat, self.root)
        self.address = address
        self.delivery = world.delivery("", address)
        self.message = MessageId("")

    def saying(self, text: str, *, last: bool = False, buttons: tuple[Button, ...] = ()) -> Delivery:
        growing = not last and self.bot.streams(self.address)
        return replace(self.delivery, text=text, growing=growing, buttons=buttons, beginning=not last)

    def doubted(self, text: str, *others: MessageId) -> Delivery:
        """What is said in the end, where it is not known whether the beginning arrived; `others` are not it."""
        return self.world.again(replace(self.saying(text, last=True), beginning=True), *others)

    async def begin(self, text: str) -> None:
        self.message = await self.bot.send(self.saying(text))

    async def grow(self, text: str) -> None:
        await self.bot.edit(self.saying(text), self.message)

    async def end(self, text: str, *buttons: Button) -> None:
        await self.bot.edit(self.saying(text, last=True, buttons=buttons), self.message)

    @property
    def standing(self) -> tuple[Shown, ...]:
        return tuple(one for one in self.world.server.from_bot(self.address.chat, thread=self.address.thread))

    @property
    def texts(self) -> list[str]:
        return [shown(one) for one in self.standing]

    @property
    def calls(self) -> list[str]:
        ours = (START, APPEND, END, UPDATE, POST)
        return [call.method for call in self.world.server.calls if call.method in ours]

    @property
    def pieces(self) -> list[str]:
        """What was streamed, call by call."""
        return [piece.text for piece in self.world.server.stream(str(self.address.chat), self.message).pieces]
