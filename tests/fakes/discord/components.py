"""Buttons, menus and layouts: https://docs.discord.com/developers/components/reference."""

from tests.fakes.discord.forms import Form
from tests.fakes.discord.model import JsonObject, JsonValue

ROW, BUTTON, TEXT_INPUT = 1, 2, 4
SELECTS = frozenset({3, 5, 6, 7, 8})
LAYOUTS = frozenset({ROW, 9, 10, 12, 13, 14, 17})
LINK, PREMIUM = 5, 6
MOST_ROWS = 5
MOST_BUTTONS = 5
MOST_IN_LAYOUT = 40
MOST_LAYOUT_TEXT = 4000


def check_components(form: Form, *, layout: bool) -> list[JsonObject]:
    """The `components` of a message, checked. `layout`: the message has the flag IS_COMPONENTS_V2."""
    seen: dict[str, str] = {}
    top = form.each("components", most=MOST_IN_LAYOUT if layout else MOST_ROWS)
    for one in top:
        kind = one.choice("type", LAYOUTS if layout else frozenset({ROW}), required=True)
        if kind == ROW:
            _check_row(one, seen)
        elif kind is not None:
            _check_layout(one, seen)
    given = [one.values for one in top]
    if layout and (texts := "".join(_texts(given))) and len(texts) > MOST_LAYOUT_TEXT:
        form.fault("components", "BASE_TYPE_MAX_LENGTH", f"Must be {MOST_LAYOUT_TEXT} or fewer in length.")
    return given


def _check_row(row: Form, seen: dict[str, str]) -> None:
    inner = row.each("components", least=1, most=MOST_BUTTONS)
    menus = 0
    for one in inner:
        kind = one.choice("type", frozenset({BUTTON}) | SELECTS, required=True)
        if kind == BUTTON:
            _check_button(one, seen)
        elif kind is not None:
            menus += 1
            _check_custom_id(one, seen)
            _check_menu(one, kind)
    if menus and len(inner) > 1:
        row.fault("components", "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width")


def _check_button(button: Form, seen: dict[str, str]) -> None:
    style = button.choice("style", frozenset(range(1, 7)), required=True)
    label = button.text("label", most=80)
    if style == LINK:
        button.text("url", most=512, least=1, required=True)
        if "custom_id" in button.values:
            button.fault_here(
                "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", "A custom id and url cannot both be specified"
            )
        return
    if style == PREMIUM:
        button.snowflake("sku_id", required=True)
        return
    if "url" in button.values:
        button.fault_here(
            "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", "A custom id and url cannot both be specified"
        )
    if not label and not button.values.get("emoji"):
        button.fault_here("BUTTON_COMPONENT_INVALID_EMOJI", "A button needs a label or an emoji")
    button.within("emoji")
    _check_custom_id(button, seen)


def _check_custom_id(form: Form, seen: dict[str, str]) -> None:
    custom_id = form.text("custom_id", least=1, most=100, required=True)
    if custom_id is None:
        return
    if custom_id in seen:
        form.fault("custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
    seen[custom_id] = form.at("custom_id")


def _check_menu(menu: Form, kind: int) -> None:
    menu.text("placeholder", most=150)
    menu.integer("min_values", most=25)
    menu.integer("max_values", least=1, most=25)
    if kind != 3:
        return
    values: set[JsonValue] = set()
    for option in menu.each("options", least=1, most=25):
        option.text("label", least=1, most=100, required=True)
        value = option.text("value", least=1, most=100, required=True)
        option.text("description", most=100)
        if value is not None and value in values:
            option.fault(
                "value", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used"
            )
        values.add(value)


def _check_layout(one: Form, seen: dict[str, str]) -> None:
    if one.values.get("type") == 10:
        one.text("content", least=1, most=MOST_LAYOUT_TEXT, required=True)
    for inner in one.each("components", most=10) if "components" in one.values else []:
        kind = inner.choice("type", LAYOUTS | {BUTTON}, required=True)
        if kind == ROW:
            _check_row(inner, seen)
        elif kind is not None:
            _check_layout(inner, seen)
    accessory = one.within("accessory")
    if accessory is not None and accessory.values.get("type") == BUTTON:
        _check_button(accessory, seen)


def _texts(given: list[JsonObject]) -> list[str]:
    found = []
    for one in given:
        if one.get("type") == 10 and isinstance(one.get("content"), str):
            found.append(str(one["content"]))
        inner = one.get("components")
        found += _texts([child for child in inner if isinstance(child, dict)]) if isinstance(inner, list) else []
    return found


def check_modal(form: Form) -> None:
    """The data of a callback of type 9."""
    form.text("custom_id", least=1, most=100, required=True)
    form.text("title", least=1, most=45, required=True)
    if "components" not in form.values:
        form.fault("components", "BASE_TYPE_REQUIRED", "This field is required")
    form.each("components", least=1, most=5)


def check_embeds(form: Form) -> list[JsonObject]:
    """https://docs.discord.com/developers/resources/message#embed-object-embed-limits"""
    given = form.each("embeds", most=10)
    total = 0
    for embed in given:
        texts = [embed.text("title", most=256), embed.text("description", most=4096)]
        for name, field, most in (("footer", "text", 2048), ("author", "name", 256)):
            inner = embed.within(name)
            texts.append(inner.text(field, most=most) if inner is not None else None)
        for one in embed.each("fields", most=25):
            texts += [one.text("name", least=1, most=256, required=True)]
            texts += [one.text("value", least=1, most=1024, required=True)]
        total += sum(len(text) for text in texts if text)
    if total > 6000:
        form.fault("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000")
    return [{"type": "rich", **embed.values} for embed in given]
