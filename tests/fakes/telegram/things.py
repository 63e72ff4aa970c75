"""What people send that is neither text nor a file of theirs, as fields of the Message object:
https://core.telegram.org/bots/api#available-types."""

from tests.fakes.telegram.model import JsonObject

_PLACE: JsonObject = {"latitude": 52.52, "longitude": 13.405}
STICKER_ID = "CAACAgIAAxkBAAEsticker"


def thing(kind: str, name: str) -> JsonObject:
    """`name`: of a person in a contact, of the place at a venue. A venue comes as a location, too."""
    match kind:
        case "sticker":
            return {"sticker": _sticker()}
        case "location":
            return {"location": _PLACE}
        case "venue":
            venue: JsonObject = {"location": _PLACE, "title": name, "address": "Main St 1"}
            return {"venue": venue, "location": _PLACE}
        case "contact":
            return {"contact": {"phone_number": "+4930123456", "first_name": name, "user_id": 5_000_000_123}}
        case "dice":
            return {"dice": {"emoji": "🎲", "value": 4}}
        case _:
            raise ValueError(f"there is no {kind!r}")


def _sticker() -> JsonObject:
    return {
        "file_id": STICKER_ID,
        "file_unique_id": "AgADsticker",
        "type": "regular",
        "width": 512,
        "height": 512,
        "is_animated": False,
        "is_video": False,
        "emoji": "👍",
        "set_name": "Thumbs",
        "file_size": 12_345,
    }
