"""Attachments: https://docs.discord.com/developers/reference#signed-attachment-cdn-urls."""

from tests.fakes.discord.platform import Platform
from tests.fakes.discord.request import Reply, Request
from tests.fakes.discord.wire import link_seal

GONE = Reply(status=404, content=b"This content is no longer available.", content_type="text/plain")


def download(platform: Platform, request: Request) -> Reply:
    """Whoever has a sealed link gets the file until the link ends, even if the message is gone."""
    until = request.query.get("ex", "")
    path = platform.journal.calls[request.number].path
    if request.query.get("hm") != link_seal(path, until) or int(until, 16) < platform.wall_clock():
        return GONE
    room = platform.rooms.get(request.ids["channel"])
    versions = [one for message in (room.messages if room else {}).values() for one in message.versions]
    for attachment in (one for version in versions for one in version.attachments):
        if attachment.id == request.ids["attachment"]:
            kind = attachment.content_type or "application/octet-stream"
            return Reply(content=attachment.content, content_type=kind)
    return GONE
