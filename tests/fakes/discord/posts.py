"""Forum posts: a thread together with its first message, which has the thread's id."""

from tests.fakes.discord import permissions as may
from tests.fakes.discord.drafts import Terms, read_draft, refuse_empty
from tests.fakes.discord.forms import Faults, Form
from tests.fakes.discord.mentions import REGULAR, mentioned, shown_texts
from tests.fakes.discord.messages import post
from tests.fakes.discord.model import FORUM, JsonObject, Message
from tests.fakes.discord.platform import Platform, Room
from tests.fakes.discord.request import Reply, Request
from tests.fakes.discord.threads import open_thread, read_name, set_duration, start_thread
from tests.fakes.discord.wire import channel_json, message_json


def first_message(platform: Platform, request: Request, forum: Room, name: str, body: JsonObject) -> JsonObject:
    """Opens the post; the answer is the channel with its `message`. Raises `ApiError`."""
    account = request.bot
    draft = read_draft(platform, body, request.uploads, Terms(default=REGULAR, place="message"))
    version = draft.version(None, platform.clock())
    refuse_empty(version)
    room = open_thread(platform, forum, account.user_id, name)
    texts = shown_texts(version.content, list(version.components))
    counted = mentioned(platform, room, account.user_id, texts, draft.allowed, None)
    message = Message(
        id=room.id,
        channel_id=room.id,
        guild_id=room.guild_id,
        author=platform.users[account.user_id],
        date=platform.date(),
        versions=(version,),
        flags=draft.flags,
        mentions=counted,
        pinged=counted.pinged,
    )
    post(platform, message)
    return channel_json(platform, room, account) | {"message": message_json(platform, message, reader=account)}


def start_thread_or_post(platform: Platform, request: Request) -> Reply:
    """In a forum the body brings the first message."""
    account = request.bot
    forum = platform.room_for(account, request.ids["channel"])
    if forum.type != FORUM:
        return start_thread(platform, request)
    platform.room_for(account, forum.id, may.SEND_MESSAGES)
    form = Form(request.body, Faults())
    name = read_name(form)
    inner = form.within("message")
    if inner is None:
        form.fault("message", "BASE_TYPE_REQUIRED", "This field is required")
    form.snowflakes("applied_tags", most=5)
    form.faults.refuse()
    assert inner is not None
    body = first_message(platform, request, forum, name, inner.values)
    set_duration(platform.rooms[int(str(body["id"]))], form)
    return Reply(status=201, body=body)
