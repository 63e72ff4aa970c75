"""The finished daemon on Telegram: private chats, groups, commands, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from sqlalchemy import text as verbatim

from core.store.checks import check
from core.store.sql import Sql
from tests.crash.daemon import Daemon, until
from tests.crash.scene import Talk, open_work
from tests.fakes.telegram import JsonObject, ThreadedTelegramServer, User
from tests.wire.daemon_world import Room, crash_agent, desk, no_secret_shown, person, telegram_bot, wait_for

_COUNT = Sql(verbatim("SELECT count(*) FROM inbox"))


@dataclass
class World:
    """One daemon for all tests here; each has people of its own."""

    server: ThreadedTelegramServer
    daemon: Daemon
    listed: Room
    unlisted: Room
    basic: Room
    """Listed, and no supergroup yet."""

    def person(self, name: str = "Ada") -> Talk:
        return person(self.server, name)

    def user(self, name: str = "Bo") -> User:
        return self.server.user(name)

    def answered(self, talk: Talk, mark: str) -> None:
        wait_for(self.server, self.daemon, lambda: talk.answers(mark) == 1)

    def heard(self, room: Room | Talk, words: str) -> None:
        """Until the bot's last message there begins with, or is, these words."""
        wait_for(self.server, self.daemon, lambda: bool(room.texts) and words in room.texts[-1])

    def still(self) -> None:
        """Until everything that was said so far is done with: what has not come by then does not come."""
        wait_for(self.server, self.daemon, lambda: not self.server.unconfirmed)

        def done() -> bool:
            with self.daemon.reading() as tx:
                return open_work(tx) == 0

        until(done, "nothing is open")

    def rows(self) -> int:
        with self.daemon.reading() as tx:
            return tx.number(_COUNT)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("desk")
    with ThreadedTelegramServer() as server:
        listed, unlisted = Room(server, server.group("Listed")), Room(server, server.group("Other"))
        basic = Room(server, server.group("Basic", supergroup=False))
        bot = telegram_bot(server, groups=[listed.chat.id, basic.chat.id])
        daemon = desk(home, [("telegram", server)], '[access]\ndirect = "open"\n' + crash_agent(home) + bot)
        with daemon, no_secret_shown(daemon, server):
            daemon.start()
            daemon.until_bot("up")
            yield World(server, daemon, listed, unlisted, basic)
            assert server.violations == ()
            with daemon.reading() as tx:
                assert check(tx) == []


# -- private chats and commands


COMMANDS = {
    "/help": "Send a message to talk to the agent.",
    "/start": "Send a message to talk to the agent.",
    "/reset": "New conversation. /resume brings the last one back.",
    "/new": "New conversation.",
    "/RESET": "New conversation.",
    "／reset": "New conversation.",
    "/re\u200bset": "New conversation.",
    "/reset@frontdesk_test_bot": "New conversation.",
    "/new fast fresh": "begin(fresh) end(fresh)",
    "/resume": "There is no earlier conversation to resume.",
    "/resume nowhere": "No conversation of yours fits “nowhere”.",
    "/sessions": "Your conversations, latest first",
    "/title Plans": "Title: “Plans”.",
    "/status": "Waiting: 0.",
    "/stop": "Nothing was running.",
    "/retry": "begin(",
    "/undo": "Took back 1 message",
    "/undo x": "Use /undo",
    "/clear": "The agent starts from an empty page",
    "/model": "The agent default has no model to choose.",
    "/agent": "Agent: default.",
    "/agent default": "The usual agent answers here: default.",
    "/usage": "This conversation: 1 message",
    "/export": "",
    "/whoami": "role guest.",
    "/again": "begin(",
    "/queue": "Use /queue TEXT.",
    "/queue fast queued": "begin(queued) end(queued)",
    "/steer fast steered": "begin(steered) end(steered)",
    "/version": "Frontdesk 0",
    "/nonsense": "I know no command /nonsense.",
    "/ no command": "begin(no command)",
}


def test_every_command_answers(world: World) -> None:
    talks = {command: world.person(f"Person {number}") for number, command in enumerate(COMMANDS)}
    marks = {command: talk.say("fast") for command, talk in talks.items()}
    for command, talk in talks.items():
        world.answered(talk, marks[command])
        talk.type(command)
    world.still()
    wrong = {
        command: talk.texts
        for command, talk in talks.items()
        if command != "/export" and (len(talk.texts) < 2 or COMMANDS[command] not in talk.texts[-1])
    }
    assert not wrong


def test_c27_a_command_to_another_bot_is_ignored_and_one_to_ours_is_carried_out(world: World) -> None:
    ada = world.user("Ada")
    world.listed.say(ada, "@frontdesk_test_bot fast c27")
    world.heard(world.listed, "begin(c27) end(c27)")
    count = len(world.listed.texts)
    world.listed.say(ada, "/new@otherbot")
    world.listed.say(ada, "/new@frontdesk_test_bot")
    world.heard(world.listed, "New conversation.")
    world.still()
    assert len(world.listed.texts) == count + 1


def test_a_listed_group_is_answered_by_mention_reply_and_command_only(world: World) -> None:
    ada, bo = world.user("Ada"), world.user("Bo")
    world.listed.say(ada, "fast unheard")
    asked = world.listed.say(ada, "@frontdesk_test_bot fast mentioned")
    world.heard(world.listed, "begin(mentioned) end(mentioned)")
    assert world.server.chat(world.listed.chat).from_bot[-1].reply_to == asked
    world.listed.say(bo, "fast replied", reply_to=world.listed.last_message)
    world.heard(world.listed, "begin(replied) end(replied)")
    world.listed.say(bo, "/version@frontdesk_test_bot")
    world.heard(world.listed, "Frontdesk 0")
    world.unlisted.say(ada, "@frontdesk_test_bot fast elsewhere")
    world.still()
    assert world.unlisted.texts == ()
    assert not any("unheard" in text for text in world.listed.texts)


def test_c28_nobody_is_nobody(world: World) -> None:
    """A message without `from`, anonymous administrators and channels that speak are no people, whatever they say."""
    count = len(world.listed.texts)
    channel = world.server.channel("News")
    world.server.say_without_from(world.listed.chat, channel, "/stop@frontdesk_test_bot")
    world.server.say_anonymously(world.listed.chat, "@frontdesk_test_bot fast anonymous")
    world.server.say_as_channel(world.listed.chat, channel, "@frontdesk_test_bot fast channel")
    world.still()
    assert len(world.listed.texts) == count
    talk = world.person()
    world.answered(talk, talk.say("fast"))


def test_c31_an_answer_that_grows_when_its_group_gets_another_id_is_there_once_under_that(world: World) -> None:
    ada = world.user("Ada")
    world.basic.say(ada, "@frontdesk_test_bot hold moving")
    world.heard(world.basic, "begin(moving)")
    there = Room(world.server, world.server.migrate(world.basic.chat, ada))
    world.heard(there, "begin(moving)")
    there.say(ada, "/stop@frontdesk_test_bot")
    world.heard(there, "Stopped.")
    there.say(ada, "@frontdesk_test_bot fast after")
    world.heard(there, "begin(after) end(after)")
    world.still()
    assert [("begin(moving)" in text, text.count("(after)")) for text in there.texts] == [
        (True, 0), (False, 0), (False, 2),
    ]  # fmt: skip


# -- edits, and what is no message


def test_an_edit_of_a_waiting_text_wins_and_a_later_one_changes_nothing(world: World) -> None:
    talk = world.person()
    running = talk.say("crawl")
    wait_for(world.server, world.daemon, lambda: talk.begun(running) == 1)
    talk.say("fast")
    [first, waiting] = talk.said
    world.server.edit(talk.chat, int(waiting), "fast better")
    world.server.edit(talk.chat, int(first), "fast toolate")
    world.heard(talk, "begin(better) end(better)")
    world.server.edit(talk.chat, int(waiting), "fast muchlater")
    world.still()
    assert len(talk.texts) == 2
    assert talk.answers(running) == 1


def test_what_is_no_message_of_a_person_is_left_alone(world: World) -> None:
    talk, other = world.person("Ada"), world.person("Bo")
    server, group, bot = world.server, world.listed.chat, world.server.user("Robot", is_bot=True)
    channel = server.channel("News")
    count = len(world.listed.texts)
    post = server.channel_post(channel, "@frontdesk_test_bot fast post")
    server.edit(channel, post.message_id, "@frontdesk_test_bot fast edited")
    server.auto_forward(group, channel, "@frontdesk_test_bot fast forwarded")
    server.say(group, bot, "@frontdesk_test_bot fast robot")
    server.join(group, other.user)
    server.pin(group, other.user, server.say(group, other.user, "look").message_id)
    server.service(group, other.user, {"new_chat_title": "Renamed"})
    server.leave(group, other.user)
    server.block(other.user)
    server.unblock(other.user)
    server.raw({"poll": {"id": "1", "question": "?"}})
    server.raw({"something_new": {"id": 1}})
    mark = talk.say("fast")
    world.answered(talk, mark)
    world.still()
    assert len(world.listed.texts) == count
    assert (len(talk.texts), other.texts) == (1, ())


def test_malformed_updates_stop_nothing(world: World) -> None:
    talk = world.person()
    before = talk.say("fast")
    broken: list[JsonObject] = [
        {"message": {"message_id": "seven"}},
        {"message": []},
        {"message": {"message_id": 1, "date": 1, "chat": {"id": "x", "type": "private"}, "text": "hi"}},
        {"edited_message": {"chat": None}},
        {},
    ]
    for update in broken:
        world.server.raw(update)
    after = talk.say("fast")
    world.answered(talk, before)
    world.answered(talk, after)
    assert world.daemon.bot()["state"] == "up"


def test_a_text_of_a_million_characters_is_one_message(world: World) -> None:
    """Longer than Telegram lets any be; nothing breaks on it, and the agent gets what a turn may have."""
    talk = world.person()
    text = "count " + "ж" * 1_000_000
    where: JsonObject = {"message_id": 900, "date": 1, "chat": talk.chat.json(), "from": talk.user.json()}
    world.server.raw({"message": {**where, "text": text}})
    world.heard(talk, "counted 400")
    world.answered(talk, talk.say("fast"))


# -- what scripts read


def test_status_and_sessions_have_the_shapes_that_scripts_rely_on(world: World) -> None:
    talk = world.person()
    world.answered(talk, talk.say("tool"))
    key = f"telegram/dm/{talk.chat.id}"
    status = world.daemon.json("status")
    assert isinstance(status, dict)
    relied_on = {"ready", "bots", "turns", "cache", "inbox", "outbox"}
    assert set(status) == relied_on | {"config", "errors", "limits", "listen"}
    assert status["ready"] is True
    [bot] = [bot for bot in status["bots"] if bot["name"] == "telegram"]
    assert set(bot) == {"name", "platform", "account", "state", "detail", "last_inbound_at"}
    assert (bot["platform"], bot["account"], bot["state"], bot["detail"]) == (
        "telegram", str(world.server.bot.id), "up", None,
    )  # fmt: skip
    assert bot["last_inbound_at"].endswith("Z")
    assert set(status["turns"]) == {"running", "waiting", "suspended"}
    assert set(status["cache"]) == {"agents", "hits", "misses", "evictions"}
    assert set(status["inbox"]) == {"pending"}
    assert set(status["outbox"]) == {"queued", "unknown", "failed"}
    listed = world.daemon.json("sessions", "list")
    assert isinstance(listed, list)
    [line] = [line for line in listed if line["key"] == key]
    assert set(line) == {"key", "id", "title", "source", "started_at", "last_at", "ended_at", "messages"}
    assert (line["source"], line["messages"], line["ended_at"]) == ("telegram", 1, None)
    for named in (key, line["id"]):
        audit_session(world.daemon.json("sessions", "show", named), key)


def audit_session(shown: object, key: str) -> None:
    assert isinstance(shown, dict)
    assert set(shown) == {"key", "generation", "session", "entries"}
    assert (shown["key"], shown["generation"]) == (key, 0)
    session = {"id", "started_at", "ended_at", "end_reason", "parent_id", "reset_reason", "title"}
    assert set(shown["session"]) == session
    assert all(set(entry) == {"seq", "kind", "text", "turn_id", "at", "sender"} for entry in shown["entries"])
    assert [entry["seq"] for entry in shown["entries"]] == list(range(1, len(shown["entries"]) + 1))
    kinds = [entry["kind"] for entry in shown["entries"]]
    assert kinds == ["user", "tool_call", "tool_result", "assistant"]
