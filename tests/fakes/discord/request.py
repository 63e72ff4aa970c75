"""One REST call on its way through, and what it is answered with."""

from dataclasses import dataclass, field

from tests.fakes.discord.errors import unauthorized
from tests.fakes.discord.model import JsonObject, JsonValue
from tests.fakes.discord.platform import Account


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A file part of a multipart body; `name` is the field's ("files[0]")."""

    name: str
    filename: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Request:
    """`ids` are the parameters of the path. `items` is the body where it is a list."""

    number: int
    route: str
    ids: dict[str, int]
    words: dict[str, str]
    query: dict[str, str]
    body: JsonObject
    items: list[JsonValue] | None
    uploads: tuple[Upload, ...]
    account: Account | None

    @property
    def bot(self) -> Account:
        """Who calls. Raises `ApiError` 401 without a valid token."""
        if self.account is None:
            raise unauthorized()
        return self.account


@dataclass(frozen=True, kw_only=True)
class Reply:
    """`content` goes out as it is, in place of `body`."""

    status: int = 200
    body: JsonValue = None
    content: bytes | None = None
    content_type: str = "application/json"


NOTHING = Reply(status=204)
