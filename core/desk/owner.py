"""What the owner of a conversation does to it. Each verb is one transaction under the owner's fence.

The mailbox decides what comes next; this carries it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog
from msgspec import Struct
from msgspec.structs import replace

from core.desk import cards, consent, moving, sweep
from core.desk.admit import Admitted, Intent, NothingLeft, admit
from core.desk.carry_out import Done, Order, carry_out
from core.desk.coalesce import Ref, ref_of
from core.desk.commands import answers
from core.desk.commands.table import Reach
from core.desk.compacting import Compacting, Finish, finish
from core.desk.house import House
from core.desk.permission import refusal
from core.desk.recall import keep, recall
from core.desk.record import Ending, record
from core.desk.refuse import refuse_broken, refuse_stale
from core.desk.scribe import Listener
from core.desk.turn import RunningTurn
from core.errors import StoreError
from core.faultpoints import faultpoint
from core.store import deliveries
from core.store.conversations import ConversationId, SessionId
from core.store.deliveries import Posted
from core.store.turns import Turn
from core.vocabulary import Moved, Outcome, RowId, TurnId

log = structlog.get_logger("frontdesk.desk")


class Unfinished(Struct, frozen=True, kw_only=True):
    """An open turn whose agent is to be asked: just admitted, or (`again`) left running by the last process, with its
    `preview` and what that says (`shown`), if it is certain."""

    admitted: Admitted
    preview: Posted | None = None
    shown: str | None = None
    again: bool = False

    def there(self, moved: Moved) -> Unfinished:
        """The same, after a chat got another id."""
        admitted = replace(self.admitted, turn=moving.turn(self.admitted.turn, moved))
        return replace(self, admitted=admitted, preview=moving.preview(self.preview, moved))


class Owner:
    """`fence` is None until the first verb has raised it. `turn` is the one that runs or waits for its recording."""

    def __init__(self, house: House, conversation: ConversationId) -> None:
        self.conversation = conversation
        self.fence: int | None = None
        self.turn: RunningTurn | None = None
        self.compacting: Compacting | None = None
        self._house = house
        self._ending: Ending | None = None
        self._carry: tuple[Turn, Ending] | None = None
        self._carried: Sequence[RowId] = ()

    async def admit(self, run: Sequence[Ref]) -> Unfinished | None:
        """Open a turn for these rows; None if they have found their fate elsewhere."""
        faultpoint("admission.begun", rows_of(run))
        house, last = self._house, run[-1]
        intent = Intent(
            conversation=self.conversation,
            fence=self.fence,
            rows=tuple(ref.id for ref in run),
            turn=TurnId(house.random.uuid7()),
            session=SessionId(house.random.uuid7()),
            agents=house.policies.agents(last.address.bot),
            policy=house.policy(last.address.bot, last.kind),
            zone=house.rules.zone_name,
            now=(now := house.clock.now()),
            stale_before=house.stale_before(now),
            button=house.button_ids(last.address.bot),
            carry=self._carry,
            turn_chars=house.rules.turn_chars,
        )
        admitted = await house.store.write(lambda tx: admit(tx, intent, house.notices))
        if isinstance(admitted, NothingLeft):
            self.fence = admitted.fence
            house.outbox.push(admitted.posted)
            house.live.ended(intent.rows, Outcome.CANCELLED)
            if admitted.carried:
                self._carry_ended()
            return None
        if self._carry is not None:
            self._count(*self._carry)
            self._carry = None
        self.fence = admitted.conversation.fence
        house.outbox.push(admitted.posted)
        house.live.ended(set(intent.rows) - set(admitted.rows) - set(admitted.left), Outcome.CANCELLED)
        if admitted.is_cut:
            house.tally.limit_met("turn_chars", now)
        if admitted.entitled:
            house.entitle(last.address, admitted.session.title)
        return Unfinished(admitted=admitted)

    async def go_on(self, unfinished: Unfinished, listener: Listener) -> None:
        """Ask the agent. Raises `StoreError`; then calling it again goes on from there."""
        admitted = unfinished.admitted
        faultpoint("turn.admitted", admitted.turn.id)
        cached = await recall(self._house, admitted, anew=unfinished.again)
        self.turn = RunningTurn(self._house, admitted, cached, listener, unfinished.preview)

    def set_aside(self, unfinished: Unfinished) -> None:
        """A command ends the turn before it is asked again; recording that command records it."""
        admitted, preview = unfinished.admitted, unfinished.preview
        wordless = preview is not None and not preview.text
        reply = (self._house.notices.say("answer_stopped"),) if wordless else ()
        ending = Ending(
            outcome=Outcome.CANCELLED, reply=reply, preview=preview, shown=unfinished.shown, called=True
        )  # fmt: skip
        self._carry, self._carried = (admitted.turn, ending), admitted.rows

    async def close(self, *, carry: bool) -> None:
        """Record how the turn ended. With `carry` a cancelled one is kept for the next admission, which its rows join.

        Raises `StoreError`; then calling it again goes on from there.
        """
        turn, house = self._turn(), self._house
        faultpoint("turn.ended", turn.id)
        if self._ending is None:
            self._ending = await turn.ending(at_once=not carry)
        ending = self._ending
        if carry and ending.outcome is Outcome.CANCELLED:
            self._carry, self._carried = (turn.turn, ending), turn.rows
            self._let_go(())
            return
        now = house.clock.now()
        try:
            closed = await house.store.write(
                lambda tx: record(tx, self.conversation, turn.admitted.conversation.fence, turn.turn, ending, now)
            )
        except StoreError:
            turn.unclaim()
            self._ending = replace(ending, at_once=False)
            raise
        faultpoint("turn.recorded", turn.id)
        if ending.outcome is Outcome.DONE:
            keep(house, turn.admitted, turn.cached, turn.learned(closed.added), closed.session.model_head)
        self._count(turn.turn, ending)
        self._let_go(closed.posted)
        house.live.ended(turn.rows, ending.outcome, turn.text)
        if turn.admitted.spoken and ending.outcome is Outcome.DONE:
            house.voices.answer(turn.turn, turn.text)
        log.info("turn", turn=turn.id, outcome=str(ending.outcome), conversation=self.conversation)

    async def close_carried(self) -> None:
        """Nothing joined the interrupted turn after all: record it by itself."""
        if self._carry is None:
            return
        turn, ending = self._carry
        fence, now = self.fence or 0, self._house.clock.now()
        closed = await self._house.store.write(lambda tx: record(tx, self.conversation, fence, turn, ending, now))
        self._house.outbox.push(closed.posted)
        self._carry_ended()

    def _carry_ended(self) -> None:
        """The carried turn was recorded by itself; nothing goes on with its rows."""
        if self._carry is not None:
            self._count(*self._carry)
            self._house.live.ended(self._carried, self._carry[1].outcome)
            self._carry = None

    def _count(self, turn: Turn, ending: Ending) -> None:
        self._house.tally.turn_ended(turn.address.bot, ending.outcome)
        if ending.stands:
            self._house.tally.delivered(turn.address.bot, "sent")

    @property
    def at_work(self) -> str | None:
        """Who asked for what is being made."""
        if self.turn is not None:
            return self.turn.turn.author
        return None if self.compacting is None else self.compacting.ref.identity

    @property
    def carries(self) -> bool:
        return self._carry is not None

    async def command(self, ref: Ref, reach: Reach) -> Done:
        """Carry out a command; a turn that waits for its recording is recorded with it."""
        faultpoint("command.accepted", ref.command, ref.id)
        house, turn = self._house, self.turn
        running = None
        if turn is not None and turn.over:
            self._ending = self._ending or await turn.ending(at_once=False)
            running = (turn.turn, self._ending)
        elif self._carry is not None:
            running = self._carry
        order = Order(
            conversation=self.conversation,
            fence=self.fence,
            row=ref.id,
            name=ref.command or "",
            now=house.clock.now(),
            policy=house.policy(ref.address.bot, ref.kind),
            notices=house.notices,
            new_session=SessionId(house.random.uuid7()),
            parts=lambda text: house.outbox.parts(ref.address.bot, text),
            agents=house.agents,
            offer=house.policies.agents(ref.address.bot),
            running=running,
            reach=reach,
            refusal=refusal(house.rules.consent_by, ref),
        )
        done = await house.store.write(lambda tx: carry_out(tx, order))
        faultpoint("command.committed", ref.command, ref.id)
        self.fence = done.fence
        self._carry_ended()
        if done.evict:
            house.cache.evict(self.conversation)
        if running is not None and turn is not None:
            self._count(*running)
            self._let_go(done.posted)
            house.live.ended(turn.rows, running[1].outcome, turn.text)
        else:
            house.outbox.push(done.posted)
        if not done.live_on:
            house.live.ended([ref.id])
        house.live.ended(done.closed, Outcome.CANCELLED)
        house.entitle(ref.address, done.title)
        if ref.command in answers.EFFECTS:
            house.gestures.show(cards.settle(house))
        return done

    def move(self, moved: Moved) -> None:
        """A chat has another id, in the store already."""
        if self.turn is not None:
            self.turn.move(moved)
        if self._ending is not None:
            self._ending = replace(self._ending, preview=moving.preview(self._ending.preview, moved))
        if self._carry is not None:
            turn, ending = self._carry
            self._carry = moving.turn(turn, moved), replace(ending, preview=moving.preview(ending.preview, moved))

    def abandon(self) -> None:
        """The process ends: nothing is recorded, the next start settles it."""
        if self.turn is not None:
            self.turn.abandon()
        if self.compacting is not None:
            self.compacting.stop()

    def compact(self, ref: Ref, over: Callable[[], None]) -> None:
        """Begin to sum up the session."""
        self.compacting = Compacting(self._house, self.conversation, ref, over)

    async def close_compacting(self) -> None:
        """Store the summary, if there is one. Raises `StoreError`; then calling it again goes on from there."""
        work, house = self.compacting, self._house
        done = work.result() if work is not None else None
        if work is not None and done is not None:
            order = Finish(
                conversation=self.conversation, fence=self.fence, row=work.ref.id, done=done,
                reply=house.notices.say(done.said), now=house.clock.now(),
            )  # fmt: skip
            self.fence, posted = await house.store.write(lambda tx: finish(tx, order))
            faultpoint("compaction.committed")
            house.outbox.push(posted)
            house.cache.evict(self.conversation)
            house.live.ended([work.ref.id])
        self.compacting = None

    async def expire(self) -> Sequence[Ref]:
        """Settle calls that were not answered in time, and end the session if its end has come and nothing is going on
        in it; rows that let turns go on."""
        house = self._house
        conversation, fence, now = self.conversation, self.fence, house.clock.now()
        ended = await house.store.write(lambda tx: sweep.end_if_due(tx, conversation, fence, house.policy, now))
        self.fence = owned = ended.fence
        if ended.reason is not None:
            house.cache.evict(self.conversation)
            house.tally.session_expired(ended.reason)
            log.info("session_ended", conversation=self.conversation, reason=ended.reason)
            return ()
        return [ref_of(row) for row in await house.store.write(lambda tx: consent.expire(tx, conversation, owned, now))]

    async def drop_stale(self, refs: Sequence[Ref]) -> None:
        """These waited too long to be acted on; their chat is told once."""
        now = self._house.clock.now()
        posted = await self._house.store.write(lambda tx: refuse_stale(tx, refs, now, self._house.notices))
        self._house.outbox.push(posted)
        self._house.live.ended([ref.id for ref in refs], Outcome.CANCELLED)

    async def refuse(self, ref: Ref) -> None:
        """This row breaks whoever touches it."""
        reference, now = self._house.random.token(8), self._house.clock.now()
        log.error("row_refused", row=ref.id, reference=reference)
        posted = await self._house.store.write(lambda tx: refuse_broken(tx, ref, reference, now, self._house.notices))
        self._house.outbox.push(posted)
        self._house.live.ended([ref.id], Outcome.FAILED)

    async def tell(self, ref: Ref, text: str) -> None:
        now = self._house.clock.now()
        posted = await self._house.store.write(
            lambda tx: deliveries.say(tx, ref.address, ref.kind, text, now, self.conversation)
        )
        self._house.outbox.push([posted])

    def _turn(self) -> RunningTurn:
        if self.turn is None:
            raise LookupError("no turn runs")
        return self.turn

    def _let_go(self, posted: Sequence[Posted]) -> None:
        """The turn is over for good; what it says goes out on the lane that it held."""
        turn = self._turn()
        self._house.outbox.push(posted, answered_s=turn.answered_s)
        turn.let_go()
        self.turn = self._ending = None


def rows_of(refs: Sequence[Ref]) -> set[RowId]:
    return {ref.id for ref in refs}
