"""What an assistant sets on its threads: https://docs.slack.dev/ai/developing-ai-apps, and the methods' pages."""

from dataclasses import replace

from tests.fakes.slack.errors import ApiError, bad_arguments, refused
from tests.fakes.slack.events import tell_change
from tests.fakes.slack.model import JsonObject, Message, Prompts, Status, Title, Version, objects_of, text_of
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation, Room

MAX_PROMPTS = 4  # https://docs.slack.dev/ai/developing-ai-apps#suggested-prompts
MAX_LOADING = 10


def set_status(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room, thread_ts = _thread(platform, caller, params)
    status = params.values.get("status")
    if not isinstance(status, str):
        raise bad_arguments("missing required field: status")
    loading = params.array("loading_messages") or []
    if len(loading) > MAX_LOADING or not all(isinstance(one, str) and one for one in loading):
        raise bad_arguments("loading_messages must be at most 10 texts [json-pointer:/loading_messages]")
    platform.statuses.append(
        Status(
            channel_id=room.channel.id,
            thread_ts=thread_ts,
            status=status,
            loading_messages=tuple(str(one) for one in loading),
            at=platform.clock(),
        )
    )
    return {}


def set_suggested_prompts(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    if caller.app.surface == "none":
        raise ApiError("not_agent_app")
    room, thread_ts = _place_of_prompts(platform, caller, params)
    listed = params.array("prompts")
    prompts = objects_of(listed)
    pairs = tuple((text_of(one, "title"), text_of(one, "message")) for one in prompts)
    if not prompts or len(prompts) != len(listed or []) or not all(title and said for title, said in pairs):
        raise bad_arguments("each prompt needs a title and a message [json-pointer:/prompts]")
    if len(prompts) > MAX_PROMPTS:
        raise bad_arguments(f"no more than {MAX_PROMPTS} items allowed [json-pointer:/prompts]")
    if caller.app.surface == "agent" and params.values.get("thread_ts"):
        platform.remark("thread_ts_for_agent", params.number, "Slack overlooks these prompts")
        return {}
    platform.prompts.append(
        Prompts(
            channel_id=room.channel.id,
            thread_ts=thread_ts,
            title=params.text("title"),
            prompts=pairs,
            at=platform.clock(),
        )
    )
    return {}


def _place_of_prompts(platform: Platform, caller: Installation, params: Params) -> tuple[Room, str]:
    """An assistant names the thread; an agent must not: there it is the latest message of the channel."""
    if params.values.get("thread_ts"):
        return _thread(platform, caller, params)
    if caller.app.surface == "assistant":
        raise refused("missing_thread_ts")
    room = platform.joined_room(caller, params.text("channel_id"))
    standing = [one.ts for one in room.messages.values() if not one.deleted]
    if not standing:
        raise ApiError("message_not_found")
    return room, max(standing)


def set_title(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    """The thread's root says the title from now on: apps see message_changed."""
    room, thread_ts = _thread(platform, caller, params)
    title = params.needed("title")
    if thread_ts not in room.threads:
        raise refused("invalid_thread_ts", f"{thread_ts} is no assistant thread")
    platform.titles.append(Title(channel_id=room.channel.id, thread_ts=thread_ts, title=title, at=platform.clock()))
    before = room.messages[thread_ts]
    version = Version(text=title, blocks=(), metadata=before.metadata, at=platform.clock())
    room.messages[thread_ts] = replace(before, extra={**before.extra, "assistant_app_thread": {"title": title}})
    tell_change(platform, room, before, platform.revise(room, room.messages[thread_ts], version))
    return {}


def _thread(platform: Platform, caller: Installation, params: Params) -> tuple[Room, str]:
    room = platform.joined_room(caller, params.text("channel_id"))
    ts = params.ts("thread_ts", "invalid_thread_ts")
    if ts is None:
        raise refused("invalid_thread_ts", "thread_ts is missing")
    root = room.standing(ts)
    if root is None or root.is_reply:
        raise refused("invalid_thread_ts", ts)
    return room, ts


def new_thread(platform: Platform, room: Room, caller: Installation) -> Message:
    """The root of an assistant thread, which Slack writes in the app's name when somebody opens the pane."""
    version = Version(text="New Assistant Thread", blocks=(), metadata=None, at=platform.clock())
    root = platform.keep(
        room,
        Message(
            channel_id=room.channel.id,
            ts="",
            user_id=caller.bot.user_id,
            team_id=caller.bot.team_id,
            bot_id=caller.bot.bot_id,
            app_id="",
            versions=(version,),
            subtype="assistant_app_thread",
        ),
    )
    room.threads.add(root.ts)
    return root
