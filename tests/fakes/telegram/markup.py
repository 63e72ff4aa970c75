"""Keyboards under messages. Source: https://core.telegram.org/bots/api#inlinekeyboardmarkup."""

from tests.fakes.telegram.errors import ApiError, bad_request
from tests.fakes.telegram.links import link_fault
from tests.fakes.telegram.model import JsonObject, JsonValue

MAX_CALLBACK_DATA_BYTES = 64
MAX_BUTTONS = 100
_ACTIONS = frozenset(
    {
        "callback_data",
        "callback_game",
        "copy_text",
        "login_url",
        "pay",
        "switch_inline_query",
        "switch_inline_query_chosen_chat",
        "switch_inline_query_current_chat",
        "url",
        "web_app",
    }
)
_LOOKS = frozenset({"text", "icon_custom_emoji_id", "style"})
STYLES = frozenset({"danger", "success", "primary"})  # https://core.telegram.org/bots/api#inlinekeyboardbutton
MAX_ROW = 8  # clients show no more side by side; telegram-bot-api refuses none, the double does
_OTHER_KINDS = frozenset({"keyboard", "remove_keyboard", "force_reply"})


def check_markup(markup: JsonObject | None, *, inline_only: bool = False) -> None:
    """Raises `ApiError` for a keyboard that Telegram refuses."""
    if not markup:
        return
    if "inline_keyboard" not in markup:
        if inline_only or not _OTHER_KINDS & markup.keys():
            raise _broken("inline keyboard expected" if inline_only else "object expected as reply markup")
        return
    rows = markup["inline_keyboard"]
    if not isinstance(rows, list):
        raise _broken('can\'t parse inline keyboard: field "inline_keyboard" must be of type Array')
    buttons = 0
    for row in rows:
        if not isinstance(row, list):
            raise _broken("can't parse inline keyboard row: inline keyboard row must be an Array")
        buttons += len(row)
        if len(row) > MAX_ROW:
            raise _broken("reply markup is too wide")
        for button in row:
            _check_button(button)
    if buttons > MAX_BUTTONS:
        raise _broken("reply markup is too long")


def _check_button(button: JsonValue) -> None:
    if not isinstance(button, dict) or not isinstance(button.get("text"), str):
        raise _broken("can't parse inline keyboard button: Can't find field \"text\"")
    if not button["text"]:
        raise _broken("can't parse inline keyboard button: text is empty")
    actions = _ACTIONS & button.keys()
    if len(actions) != 1 or button.get("callback_data") == "":
        raise _broken("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
    if unknown := sorted(button.keys() - _ACTIONS - _LOOKS):
        raise _broken(f"can't parse inline keyboard button: unknown fields {unknown}")
    if button.get("style", "primary") not in STYLES:
        raise _broken("can't parse inline keyboard button: invalid button style specified")
    data = button.get("callback_data")
    if data is not None and not (isinstance(data, str) and len(data.encode()) <= MAX_CALLBACK_DATA_BYTES):
        raise _broken("BUTTON_DATA_INVALID")
    url = button.get("url")
    if url is not None and (fault := link_fault(str(url))) is not None:
        raise _broken(f"inline keyboard button URL '{url}' is invalid: {fault}")


def callback_values(markup: JsonObject | None) -> set[str]:
    """The callback_data of every button."""
    rows = (markup or {}).get("inline_keyboard")
    found: set[str] = set()
    for row in rows if isinstance(rows, list) else []:
        for button in row if isinstance(row, list) else []:
            data = button.get("callback_data") if isinstance(button, dict) else None
            found |= {data} if isinstance(data, str) else set()
    return found


def _broken(reason: str) -> ApiError:
    return bad_request(reason, rule="reply_markup")
