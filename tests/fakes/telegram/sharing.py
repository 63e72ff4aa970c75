"""How tests make people send files, and let what is good for moments run out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from tests.fakes.telegram.images import png
from tests.fakes.telegram.model import Chat, Media, Said, User
from tests.fakes.telegram.people import MessageOptions, People
from tests.fakes.telegram.text import finished_text


class Shared(TypedDict, total=False):
    """What a file is like. `album` is the media_group_id."""

    name: str
    media_type: str
    content: bytes
    caption: str
    album: str


class Sharing(People):
    """The acts of people with files."""

    def share(
        self, chat: Chat, user: User, kind: str, shared: Shared | None = None, **options: Unpack[MessageOptions]
    ) -> Said:
        """Somebody sends a file; `kind` is the field of the Message object. It can be had by getFile."""
        like = shared or {}
        media = Media(
            kind=kind,
            file_id="",
            name=like.get("name", ""),
            media_type=like.get("media_type", ""),
            content=like.get("content", png(90, 60)),
        )
        text, entities = finished_text(like.get("caption", ""), (), may_be_empty=True)
        with self.platform.lock:
            self.platform.room(chat.id).statuses.setdefault(user.id, "member")
            message = replace(
                self.draft_of(chat, None, options, sender=user),
                media=self.platform.keep(media),
                caption=text or None,
                caption_entities=entities,
                media_group_id=like.get("album"),
            )
        return self.posted(chat, message)

    def album(
        self, chat: Chat, user: User, shared: Sequence[tuple[str, Shared]], *, name: str = "album1"
    ) -> list[Said]:
        """Somebody sends several files as one."""
        return [self.share(chat, user, kind, {**one, "album": name}) for kind, one in shared]

    def expire_callbacks(self) -> None:
        """Whatever button was pressed, it is too late to answer."""
        with self.platform.lock:
            self.platform.callbacks.clear()
