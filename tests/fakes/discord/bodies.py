"""Reading of request bodies: JSON, or a form of files with `payload_json`.

https://docs.discord.com/developers/reference#uploading-files
"""

import json
from dataclasses import dataclass, field

from aiohttp import BodyPartReader, web

from tests.fakes.discord.errors import ApiError, invalid_json, too_large
from tests.fakes.discord.model import JsonObject, JsonValue
from tests.fakes.discord.request import Upload

MOST_BYTES = 25 * 1024 * 1024  # docs, "Create Message": the maximum request size


@dataclass(frozen=True)
class Body:
    values: JsonObject = field(default_factory=dict)
    items: list[JsonValue] | None = None
    uploads: tuple[Upload, ...] = ()

    def logged(self) -> JsonObject:
        """As the journal keeps it: a list under "items", files by their names."""
        kept = self.values if self.items is None else {"items": self.items}
        files: list[JsonValue] = [upload.filename for upload in self.uploads]
        return {**kept, "files": files} if files else dict(kept)


async def read_body(request: web.Request) -> Body:
    """Raises `ApiError` 40005, 50109 or, for other content types, 50035."""
    if (request.content_length or 0) > MOST_BYTES:
        await request.read()
        raise too_large()
    if request.content_type == "multipart/form-data":
        return await _read_form(request)
    raw = await request.read()
    if len(raw) > MOST_BYTES:
        raise too_large()
    if not raw:
        return Body()
    if request.content_type != "application/json":
        raise ApiError(400, 50035, 'Invalid Form Body: expected "Content-Type" header to be JSON', rule="content_type")
    return _from_json(raw)


def _from_json(raw: bytes, uploads: tuple[Upload, ...] = ()) -> Body:
    try:
        parsed = json.loads(raw)
    except ValueError:
        raise invalid_json() from None
    if isinstance(parsed, list):
        return Body({}, parsed, uploads)
    if not isinstance(parsed, dict):
        raise invalid_json()
    return Body(parsed, None, uploads)


async def _read_form(request: web.Request) -> Body:
    uploads: list[Upload] = []
    payload = b"{}"
    total = 0
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            raise invalid_json()
        content = bytes(await part.read())
        total += len(content)
        if part.filename is not None:
            uploads.append(Upload(name=part.name or "", filename=part.filename, content=content))
        elif part.name == "payload_json":
            payload = content
    if total > MOST_BYTES:
        raise too_large()
    return _from_json(payload, tuple(uploads))
