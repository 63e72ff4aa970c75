"""Messages in and out, through the real SDK."""

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import Channel, ManualClock, Person, SlackServer
from tests.fakes.slack.conftest import Listener


async def test_what_a_person_says_arrives_as_slack_shapes_it(
    server: SlackServer, listener: Listener, ada: Person, general: Channel
) -> None:
    random = server.channel("random")
    said = server.say(
        general, ada, f"{server.bot} is 1 < 2 & 3? see {random} and https://a.example/?x=1&y=2 @here <!subteam^S1>"
    )
    await server.until(server.acked)
    message, mention = listener.events
    text = (
        f"<@{server.bot.user_id}> is 1 &lt; 2 &amp; 3? see <#{random.id}|random> and"
        " <https://a.example/?x=1&amp;y=2> <!here> <!subteam^S1>"
    )
    assert (message["type"], message["text"], message["ts"]) == ("message", text, said.ts)
    assert (message["channel_type"], message["channel"], message["user"]) == ("channel", general.id, ada.id)
    assert (mention["type"], mention["text"], mention["ts"]) == ("app_mention", text, said.ts)
    assert mention["client_msg_id"] == message["client_msg_id"]
    assert "channel_type" not in mention
    first, second = (one.payload for one in listener.requests)
    assert first["event_id"] != second["event_id"]
    assert first["authorizations"][0]["user_id"] == server.bot.user_id
    assert first["team_id"] == server.team.id
    (section,) = message["blocks"][0]["elements"]  # type: ignore[index]
    kinds = [one["type"] for one in section["elements"]]
    assert kinds == ["user", "text", "channel", "text", "link", "text", "broadcast", "text", "usergroup"]
    assert section["elements"][1]["text"] == " is 1 < 2 & 3? see "
    assert server.problems == ()


async def test_the_mention_can_come_first(
    server: SlackServer, listener: Listener, ada: Person, general: Channel
) -> None:
    server.platform.mention_first = True
    server.say(general, ada, f"{server.bot} hello")
    await server.until(server.acked)
    assert [event["type"] for event in listener.events] == ["app_mention", "message"]


async def test_the_second_of_the_pair_can_be_late(
    server: SlackServer, listener: Listener, clock: ManualClock, ada: Person, general: Channel
) -> None:
    server.platform.pair_gap_s = 2.0
    server.say(general, ada, f"{server.bot} hello")
    await server.until(lambda: server.deliveries[0].state == "acked")
    assert server.deliveries[1].state == "waiting"
    clock.advance(2)
    await server.until(server.acked)
    assert [event["type"] for event in listener.events] == ["message", "app_mention"]


async def test_a_literal_text_has_no_tokens(server: SlackServer, ada: Person, general: Channel) -> None:
    said = server.say(general, ada, f"{server.bot} @here", literal=True)
    message = server.message(general, said)
    assert (message.text, message.pings) == (f"&lt;@{server.bot.user_id}&gt; @here", frozenset())
    assert len(said.event_ids) == 1


async def test_apps_are_told_only_what_their_scopes_and_rooms_allow(server: SlackServer, ada: Person) -> None:
    elsewhere = server.channel("elsewhere", members=[ada], with_bot=False)
    private = server.channel("private", private=True, members=[ada])
    direct, several = server.im(ada), server.mpim(ada, server.person("Bob"))
    kinds = []
    for channel in (elsewhere, private, direct, several):
        said = server.say(channel, ada, f"{server.bot} hello")
        kinds.append([server.delivery(one).event["type"] for one in said.event_ids])
    assert kinds == [[], ["message", "app_mention"], ["message"], ["message", "app_mention"]]
    server.remove_scope("groups:history", "im:history", "app_mentions:read")
    assert [len(server.say(one, ada, f"{server.bot}").event_ids) for one in (private, direct, several)] == [0, 0, 1]


async def test_the_bots_own_messages_come_back(
    server: SlackServer, listener: Listener, web: AsyncWebClient, general: Channel
) -> None:
    posted = await web.chat_postMessage(channel=general.id, text="hello &amp; welcome")
    await web.chat_update(channel=general.id, ts=posted["ts"], text="bye")
    await web.chat_delete(channel=general.id, ts=posted["ts"])
    await server.until(lambda: len(listener.events) == 3 and server.acked())
    new, changed, deleted = listener.events
    assert (new["user"], new["bot_id"], new["app_id"]) == (server.bot.user_id, server.bot.bot_id, server.bot.app_id)
    assert "subtype" not in new
    assert (changed["subtype"], changed["hidden"], changed["message"]["text"]) == ("message_changed", True, "bye")  # type: ignore[index]
    assert changed["previous_message"]["text"] == "hello &amp; welcome"  # type: ignore[index]
    assert (deleted["subtype"], deleted["deleted_ts"]) == ("message_deleted", posted["ts"])
    versions = server.message(general, posted["ts"]).versions
    assert [one.text for one in versions] == ["hello &amp; welcome", "bye"]
    assert server.messages(general) == ()


async def test_threads_broadcasts_and_tombstones(server: SlackServer, ada: Person, general: Channel) -> None:
    root = server.say(general, ada, "root")
    reply = server.say(general, ada, "reply", thread=root)
    loud = server.say(general, ada, "loud", thread=root, broadcast=True)
    events = [server.delivery(one.event_ids[0]).event for one in (root, reply, loud)]
    assert "thread_ts" not in events[0]
    assert (events[1]["thread_ts"], events[1]["parent_user_id"]) == (root.ts, ada.id)
    assert (events[2]["subtype"], events[2]["thread_ts"]) == ("thread_broadcast", root.ts)
    server.delete(general, root)
    last = server.deliveries[-1].event
    assert last["subtype"] == "message_changed"
    assert last["message"]["subtype"] == "tombstone"  # type: ignore[index,call-overload]
    assert [one.subtype for one in server.messages(general)] == ["tombstone", None, "thread_broadcast"]


async def test_other_subtypes(server: SlackServer, ada: Person, general: Channel) -> None:
    jenkins, bob = server.other_bot(), server.person("Bob")
    old = server.say(general, jenkins, "build failed", subtype="bot_message")
    new = server.say(general, jenkins, "build failed")
    me = server.say(general, ada, "waves", subtype="me_message")
    joined = server.join(general, bob)
    shared = server.say(general, ada, "look", files=[server.file(ada, "a.txt", b"abc")])
    events = [server.delivery(one.event_ids[0]).event for one in (old, new, me, joined, shared)]
    assert [one.get("subtype") for one in events] == ["bot_message", None, "me_message", "channel_join", "file_share"]
    assert [one.get("bot_id") for one in events] == [jenkins.bot_id, jenkins.bot_id, None, None, None]
    assert "bot_profile" in events[1]
    assert [server.delivery(one).event["type"] for one in joined.event_ids] == ["message", "member_joined_channel"]
    files = events[4]["files"]
    assert isinstance(files, list)
    assert len(files) == 1


async def test_people_of_another_workspace(server: SlackServer, general: Channel) -> None:
    other = server.add_team("Other")
    eve = server.person("Eve", team=other)
    delivery = server.delivery(server.say(general, eve, "hello").event_ids[0])
    assert (delivery.payload["team_id"], delivery.payload["is_ext_shared_channel"]) == (server.team.id, True)
    assert (delivery.event["team"], delivery.event["user_team"]) == (other.id, other.id)


async def test_the_bot_is_told_when_it_joins_and_is_removed(server: SlackServer, ada: Person) -> None:
    room = server.channel("room", members=[ada], with_bot=False)
    bot = server.as_person(server.bot)
    server.join(room, bot, inviter=ada)
    server.leave(room, ada)
    server.leave(room, bot)
    kinds = [one.event.get("subtype") or one.event["type"] for one in server.deliveries]
    assert kinds == ["channel_join", "member_joined_channel", "member_left_channel", "channel_left"]
    assert server.say(room, ada, "alone again").event_ids == ()


async def test_pings_are_seen_in_texts_blocks_and_markdown(
    server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel
) -> None:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "<!channel>"}}
    plain = {"type": "section", "text": {"type": "plain_text", "text": "<!everyone>"}}
    await web.chat_postMessage(channel=general.id, text=f"hello {ada}")
    await web.chat_postMessage(channel=general.id, text="x", blocks=[section, plain])
    await web.chat_postMessage(channel=general.id, markdown_text="**hello** <!here>")
    await web.chat_postMessage(channel=general.id, text=f"&lt;@{ada.id}&gt; &lt;!channel&gt; @here")
    assert [one.pings for one in server.messages(general)] == [{ada.id}, {"channel"}, {"here"}, frozenset()]
    assert [one.text for one in server.pinged(ada)] == [f"hello {ada}"]
    await web.chat_postMessage(channel=general.id, text="@here", parse="full")
    assert len(server.pinged("here")) == 2


async def test_ephemeral_messages_are_for_one_person(
    server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel
) -> None:
    bob = server.person("Bob")
    await web.chat_postEphemeral(channel=general.id, user=ada.id, text="psst")
    with pytest.raises(SlackApiError, match="user_not_in_channel"):
        await web.chat_postEphemeral(channel=general.id, user=bob.id, text="psst")
    assert [one.text for one in server.ephemerals(ada)] == ["psst"]
    assert server.ephemerals(bob) == ()
    assert server.messages(general) == ()


async def test_history_is_newest_first_and_replies_oldest_first(
    server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel
) -> None:
    said = [server.say(general, ada, str(number)) for number in range(5)]
    replies = [server.say(general, ada, f"r{number}", thread=said[0]) for number in range(3)]
    meta = {"event_type": "answer", "event_payload": {"part": 1}}
    await web.chat_postMessage(channel=general.id, text="bot", thread_ts=said[0].ts, metadata=meta)
    page = await web.conversations_history(channel=general.id, limit=2)
    assert [one["text"] for one in page["messages"]] == ["4", "3"]
    rest = await web.conversations_history(channel=general.id, cursor=page["response_metadata"]["next_cursor"])
    assert [one["text"] for one in rest["messages"]] == ["2", "1", "0"]
    assert rest["messages"][-1]["reply_count"] == 4
    assert not rest["has_more"]
    later = await web.conversations_history(channel=general.id, oldest=said[2].ts)
    assert [one["text"] for one in later["messages"]] == ["4", "3"]
    among = await web.conversations_history(channel=general.id, oldest=said[1].ts, latest=said[3].ts, inclusive=True)
    assert [one["text"] for one in among["messages"]] == ["3", "2", "1"]
    thread = await web.conversations_replies(channel=general.id, ts=replies[1].ts, include_all_metadata=True)
    assert [one["text"] for one in thread["messages"]] == ["0", "r0", "r1", "r2", "bot"]
    assert thread["messages"][-1]["metadata"] == meta
    bare = await web.conversations_replies(channel=general.id, ts=said[0].ts)
    assert "metadata" not in bare["messages"][-1]


async def test_people_teams_and_rooms_can_be_read(
    server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel
) -> None:
    assert (await web.users_info(user=ada.id))["user"]["profile"]["display_name"] == "ada"
    assert (await web.bots_info(bot=server.bot.bot_id))["bot"]["user_id"] == server.bot.user_id
    assert (await web.team_info())["team"]["id"] == server.team.id
    assert (await web.conversations_info(channel=general.id))["channel"]["is_member"] is True
    assert (await web.conversations_members(channel=general.id))["members"] == sorted([ada.id, server.bot.user_id])
    assert [one["id"] for one in (await web.users_conversations())["channels"]] == [general.id]
    page = await web.conversations_members(channel=general.id, limit=1)
    rest = await web.conversations_members(channel=general.id, cursor=page["response_metadata"]["next_cursor"])
    assert [*page["members"], *rest["members"]] == sorted([ada.id, server.bot.user_id])
    opened = await web.conversations_open(users=ada.id)
    assert opened["channel"]["id"] == server.im(ada).id
    assert (await web.conversations_info(channel=server.im(ada).id))["channel"]["user"] == ada.id
    open_room = server.channel("open", with_bot=False)
    with pytest.raises(SlackApiError, match="not_in_channel"):
        await web.chat_postMessage(channel=open_room.id, text="hello")
    await web.conversations_join(channel=open_room.id)
    await web.chat_postMessage(channel=open_room.id, text="hello")
    assert server.bot_texts(open_room) == ("hello",)
