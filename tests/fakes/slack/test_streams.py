"""Streamed messages, and what an assistant sets on its threads."""

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.models.messages.chunk import MarkdownTextChunk, TaskUpdateChunk
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import Channel, ManualClock, Person, SlackServer
from tests.fakes.slack.conftest import Listener


async def test_the_sdks_stream_becomes_one_message(
    server: SlackServer, listener: Listener, web: AsyncWebClient, ada: Person, general: Channel
) -> None:
    asked = server.say(general, ada, f"{server.bot} tell me")
    stream = await web.chat_stream(
        channel=general.id,
        thread_ts=asked.ts,
        recipient_team_id=server.team.id,
        recipient_user_id=ada.id,
        buffer_size=4,
    )
    await stream.append(markdown_text="**one** ")
    await stream.append(markdown_text="two ")
    button = {"type": "button", "text": {"type": "plain_text", "text": "Stop"}, "action_id": "stop"}
    meta = {"event_type": "answer", "event_payload": {"id": "7"}}
    assert server.from_bot(general)[0].streaming
    await stream.stop(markdown_text="three", blocks=[{"type": "actions", "elements": [button]}], metadata=meta)
    (message,) = server.from_bot(general, thread=asked)
    assert (message.text, message.streaming, message.metadata) == ("**one** two three", False, meta)
    seen = server.stream(general, message.ts)
    assert [piece.text for piece in seen.pieces] == ["**one** ", "two ", "three"]
    assert [piece.method for piece in seen.pieces] == ["chat.startStream", "chat.appendStream", "chat.stopStream"]
    assert (seen.mode, seen.recipient_user_id) == ("chunks", ada.id)
    await server.until(lambda: server.acked())
    assert [event.get("subtype") for event in listener.events] == [None, None, None, "message_changed"]
    clicked = server.click(general, message.ts, ada, "stop")
    await server.until(lambda: server.acked(clicked))
    assert server.problems == ()


async def test_a_stream_needs_a_thread_and_in_channels_a_recipient(
    server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel
) -> None:
    asked = server.say(general, ada, "tell me")
    direct = server.say(server.im(ada), ada, "tell me")
    with pytest.raises(SlackApiError, match="missing_recipient_team_id"):
        await web.chat_startStream(channel=general.id, thread_ts=asked.ts)
    with pytest.raises(SlackApiError, match="missing_recipient_user_id"):
        await web.chat_startStream(channel=general.id, thread_ts=asked.ts, recipient_team_id=server.team.id)
    with pytest.raises(SlackApiError, match="team_not_found"):
        await web.chat_startStream(
            channel=general.id, thread_ts=asked.ts, recipient_team_id="T1", recipient_user_id=ada.id
        )
    with pytest.raises(SlackApiError, match="invalid_thread_ts"):
        await web.api_call("chat.startStream", json={"channel": direct.channel_id})
    await web.chat_startStream(channel=direct.channel_id, thread_ts=direct.ts)


async def test_a_stream_keeps_its_mode_and_ends_once(
    server: SlackServer, web: AsyncWebClient, ada: Person, clock: ManualClock
) -> None:
    direct = server.im(ada)
    asked = server.say(direct, ada, "tell me")
    ts = str((await web.chat_startStream(channel=direct.id, thread_ts=asked.ts, markdown_text="a"))["ts"])
    with pytest.raises(SlackApiError, match="streaming_mode_mismatch"):
        await web.chat_appendStream(channel=direct.id, ts=ts, chunks=[MarkdownTextChunk(text="b")])
    with pytest.raises(SlackApiError, match="markdown_text_or_chunks_required"):
        await web.chat_appendStream(channel=direct.id, ts=ts)
    with pytest.raises(SlackApiError, match="cannot_provide_both_markdown_text_and_chunks"):
        await web.chat_appendStream(channel=direct.id, ts=ts, markdown_text="x", chunks=[MarkdownTextChunk(text="b")])
    with pytest.raises(SlackApiError, match="msg_too_long"):
        await web.chat_appendStream(channel=direct.id, ts=ts, markdown_text="x" * 12_001)
    with pytest.raises(SlackApiError, match="streaming_state_conflict"):
        await web.chat_update(channel=direct.id, ts=ts, text="x")
    await web.chat_appendStream(channel=direct.id, ts=ts, markdown_text="b")
    await web.chat_stopStream(channel=direct.id, ts=ts)
    with pytest.raises(SlackApiError, match="message_not_in_streaming_state"):
        await web.chat_appendStream(channel=direct.id, ts=ts, markdown_text="c")
    with pytest.raises(SlackApiError, match="message_not_in_streaming_state"):
        await web.chat_stopStream(channel=direct.id, ts=ts)
    await web.chat_update(channel=direct.id, ts=ts, text="now it can be edited")
    assert server.bot_texts(direct) == ("now it can be edited",)


async def test_a_stream_can_be_stopped_by_the_person_or_by_time(
    server: SlackServer, web: AsyncWebClient, ada: Person, clock: ManualClock
) -> None:
    direct = server.im(ada)
    asked = server.say(direct, ada, "tell me")
    first = str((await web.chat_startStream(channel=direct.id, thread_ts=asked.ts, markdown_text="a"))["ts"])
    server.stop_stream(direct, first)
    with pytest.raises(SlackApiError, match="stopped_by_user"):
        await web.chat_appendStream(channel=direct.id, ts=first, markdown_text="b")
    await web.chat_stopStream(channel=direct.id, ts=first)
    second = str((await web.chat_startStream(channel=direct.id, thread_ts=asked.ts, markdown_text="a"))["ts"])
    clock.advance(301)
    with pytest.raises(SlackApiError, match="message_not_in_streaming_state"):
        await web.chat_appendStream(channel=direct.id, ts=second, markdown_text="b")
    assert not server.message(direct, second).streaming


async def test_chunks_are_checked(server: SlackServer, web: AsyncWebClient, ada: Person) -> None:
    direct = server.im(ada)
    asked = server.say(direct, ada, "tell me")
    task = TaskUpdateChunk(id="1", title="Looking", status="in_progress")
    ts = str((await web.chat_startStream(channel=direct.id, thread_ts=asked.ts, chunks=[task]))["ts"])
    wrong = [
        {"type": "poem", "text": "x"},
        {"type": "task_update", "id": "1", "title": "x" * 257, "status": "complete"},
        {"type": "task_update", "id": "1", "title": "x", "status": "done"},
        {"type": "markdown_text", "text": ""},
    ]
    for chunk in wrong:
        with pytest.raises(SlackApiError, match="invalid_chunks"):
            await web.chat_appendStream(channel=direct.id, ts=ts, chunks=[chunk])
    assert server.stream(direct, ts).pieces[0].chunks[0]["title"] == "Looking"


async def test_an_assistant_thread(
    server: SlackServer,
    listener: Listener,
    web: AsyncWebClient,
    clock: ManualClock,
    ada: Person,
    general: Channel,
) -> None:
    thread = server.open_assistant(ada, viewing=general)
    channel = thread.channel_id
    await web.assistant_threads_setSuggestedPrompts(
        channel_id=channel, thread_ts=thread.ts, prompts=[{"title": "Sum up", "message": "Sum it up"}]
    )
    await web.assistant_threads_setStatus(
        channel_id=channel, thread_ts=thread.ts, status="is thinking...", loading_messages=["Counting"]
    )
    await web.assistant_threads_setTitle(channel_id=channel, thread_ts=thread.ts, title="A sum")
    assert server.status(thread.channel_id, thread) == "is thinking..."
    picked = server.pick_prompt(ada, thread, "Sum up")
    await web.chat_postMessage(channel=thread.channel_id, thread_ts=thread.ts, text="42")
    assert server.status(thread.channel_id, thread) == ""
    await web.assistant_threads_setStatus(channel_id=channel, thread_ts=thread.ts, status="is thinking...")
    clock.advance(120)
    assert server.status(thread.channel_id, thread) == ""
    server.look_elsewhere(ada, thread, general)
    await server.until(server.acked)
    kinds = [event.get("subtype") or event["type"] for event in listener.events]
    assert kinds[:3] == ["assistant_thread_started", "message_changed", "message"]
    assert kinds[-1] == "assistant_thread_context_changed"
    started = listener.events[0]["assistant_thread"]
    assert started == {
        "user_id": ada.id,
        "channel_id": thread.channel_id,
        "thread_ts": thread.ts,
        "context": {"channel_id": general.id, "team_id": server.team.id, "thread_entry_point": "app_icon"},
    }
    assert server.message(thread.channel_id, picked).thread_ts == thread.ts
    with pytest.raises(SlackApiError, match="missing_thread_ts"):
        await web.assistant_threads_setSuggestedPrompts(channel_id=channel, prompts=[{"title": "a", "message": "b"}])
    with pytest.raises(ValueError, match="no prompt"):
        server.pick_prompt(ada, thread, "Something else")
    with pytest.raises(SlackApiError, match="invalid_thread_ts"):
        await web.assistant_threads_setStatus(channel_id=general.id, thread_ts="1.2", status="x")
    too_many = [{"title": str(number), "message": "x"} for number in range(5)]
    with pytest.raises(SlackApiError, match="invalid_arguments"):
        await web.assistant_threads_setSuggestedPrompts(channel_id=channel, thread_ts=thread.ts, prompts=too_many)


async def test_prompts_of_an_agent_have_no_thread(server: SlackServer, web: AsyncWebClient, ada: Person) -> None:
    server.app().surface = "agent"
    direct = server.im(ada)
    said = server.say(direct, ada, "hello")
    prompts = [{"title": "a", "message": "b"}]
    await web.assistant_threads_setSuggestedPrompts(channel_id=direct.id, prompts=prompts)
    await web.assistant_threads_setSuggestedPrompts(channel_id=direct.id, thread_ts=said.ts, prompts=prompts)
    assert [one.thread_ts for one in server.prompts] == [said.ts]
    assert [problem.rule for problem in server.problems] == ["thread_ts_for_agent"]
    assert server.open_assistant(ada).event_ids == ()
    server.app().surface = "none"
    with pytest.raises(SlackApiError, match="not_agent_app"):
        await web.assistant_threads_setSuggestedPrompts(channel_id=direct.id, prompts=prompts)
