"""The file object: https://docs.slack.dev/reference/objects/file-object."""

from tests.fakes.slack.model import File, JsonObject, JsonValue, present
from tests.fakes.slack.platform import Platform


def shares_json(platform: Platform, file: File) -> JsonObject:
    """Where the file was shared: the only way to learn the timestamp of the message that an upload became."""
    found: dict[str, dict[str, list[JsonValue]]] = {"public": {}, "private": {}}
    for channel_id in file.channel_ids:
        room = platform.rooms[channel_id]
        messages = [one for one in room.messages.values() if file.id in one.file_ids and not one.deleted]
        places: list[JsonValue] = [present({"ts": one.ts, "thread_ts": one.thread_ts}) for one in messages]
        found["public" if room.channel.kind == "channel" else "private"][channel_id] = places
    return {kind: dict(places) for kind, places in found.items() if places}


def file_json(platform: Platform, file: File) -> JsonObject:
    extension = file.name.rpartition(".")[2].lower() if "." in file.name else "binary"
    kinds: dict[str, list[JsonValue]] = {key: [] for key in ("channels", "groups", "ims")}
    for channel_id in file.channel_ids:
        kind = platform.rooms[channel_id].channel.kind
        kinds[{"channel": "channels", "im": "ims"}.get(kind, "groups")].append(channel_id)
    private = f"{platform.url}/files-pri/{file.team_id}-{file.id}"
    return {
        "id": file.id,
        "created": file.created,
        "timestamp": file.created,
        "name": file.name,
        "title": file.title,
        "mimetype": file.mimetype,
        "filetype": extension,
        "pretty_type": extension.upper(),
        "user": file.user_id,
        "user_team": file.team_id,
        "editable": False,
        "size": len(file.content),
        "mode": "hosted",
        "is_external": False,
        "external_type": "",
        "is_public": bool(kinds["channels"]),
        "public_url_shared": False,
        "display_as_bot": False,
        "username": "",
        "url_private": f"{private}/{file.name}",
        "url_private_download": f"{private}/download/{file.name}",
        "permalink": f"{platform.url}/files/{file.user_id}/{file.id}/{file.name}",
        "has_rich_preview": False,
        "file_access": "visible",
        **({"subtype": file.subtype} if file.subtype is not None else {}),
        **{key: list(value) for key, value in kinds.items()},
    }
