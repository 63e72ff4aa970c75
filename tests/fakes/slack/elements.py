"""Block elements and composition objects: https://docs.slack.dev/reference/block-kit/block-elements."""

from tests.fakes.slack.schema import (
    Check,
    Shape,
    anything,
    flag,
    integer,
    listed,
    plain,
    rich,
    text,
    typed,
    url_check,
    word,
)

_ID = {"action_id": text(255)}
_CONFIRM = Shape(
    {"title": plain(100), "text": rich(300), "confirm": plain(30), "deny": plain(30)},
    {"style": word("primary", "danger")},
)
_OPTION = Shape({"text": rich(75), "value": text(150)}, {"description": rich(75), "url": url_check})
_GROUP = Shape({"label": plain(75), "options": listed(_OPTION, 100)})
SUGGESTED = Shape({}, {"options": listed(_OPTION, 100, 0), "option_groups": listed(_GROUP, 100, 0)})
"""The answer to a block_suggestion: https://docs.slack.dev/reference/interaction-payloads/block_suggestion-payload."""
_SELECT: dict[str, Check] = {**_ID, "placeholder": plain(150), "confirm": _CONFIRM, "focus_on_load": flag}
_STATIC: dict[str, Check] = {"options": listed(_OPTION, 100), "option_groups": listed(_GROUP, 100)}
_MANY: dict[str, Check] = {"max_selected_items": integer}
_FILTER = Shape(
    {}, {"include": anything, "exclude_external_shared_channels": flag, "exclude_bot_users": flag}, ("include",)
)
_LISTED: dict[str, Check] = {
    "response_url_enabled": flag,
    "filter": _FILTER,
    "default_to_current_conversation": flag,
}
_DISPATCH = Shape({}, {"trigger_actions_on": listed(word("on_enter_pressed", "on_character_entered"), 2)})
_TYPED: dict[str, Check] = {
    **_ID,
    "initial_value": text(3_000, 0),
    "placeholder": plain(150),
    "focus_on_load": flag,
    "dispatch_action_config": _DISPATCH,
}
_FEEDBACK = Shape({"text": plain(75), "value": text(2_000)}, {"accessibility_label": text(75)})

IMAGE = Shape(
    {"alt_text": text(2_000, 0)}, {"image_url": url_check, "slack_file": anything}, ("image_url", "slack_file")
)

ELEMENTS: dict[str, Check] = {
    "button": Shape(
        {"text": plain(75)},
        {
            **_ID,
            "url": url_check,
            "value": text(2_000),
            "style": word("primary", "danger"),
            "confirm": _CONFIRM,
            "accessibility_label": text(75),
        },
    ),
    "overflow": Shape({"options": listed(_OPTION, 5)}, {**_ID, "confirm": _CONFIRM}),
    "static_select": Shape({}, {**_SELECT, **_STATIC, "initial_option": _OPTION}, ("options", "option_groups")),
    "multi_static_select": Shape(
        {}, {**_SELECT, **_STATIC, **_MANY, "initial_options": listed(_OPTION, 100)}, ("options", "option_groups")
    ),
    "external_select": Shape({}, {**_SELECT, "initial_option": _OPTION, "min_query_length": integer}),
    "multi_external_select": Shape(
        {}, {**_SELECT, **_MANY, "initial_options": listed(_OPTION, 100), "min_query_length": integer}
    ),
    "users_select": Shape({}, {**_SELECT, "initial_user": text(20)}),
    "multi_users_select": Shape({}, {**_SELECT, **_MANY, "initial_users": listed(text(20), 100)}),
    "conversations_select": Shape({}, {**_SELECT, **_LISTED, "initial_conversation": text(20)}),
    "multi_conversations_select": Shape(
        {}, {**_SELECT, **_LISTED, **_MANY, "initial_conversations": listed(text(20), 100)}
    ),
    "channels_select": Shape({}, {**_SELECT, "initial_channel": text(20), "response_url_enabled": flag}),
    "multi_channels_select": Shape({}, {**_SELECT, **_MANY, "initial_channels": listed(text(20), 100)}),
    "datepicker": Shape({}, {**_SELECT, "initial_date": text(10)}),
    "timepicker": Shape({}, {**_SELECT, "initial_time": text(5), "timezone": text(100)}),
    "datetimepicker": Shape({}, {**_ID, "initial_date_time": integer, "confirm": _CONFIRM, "focus_on_load": flag}),
    "checkboxes": Shape(
        {"options": listed(_OPTION, 10)},
        {**_ID, "initial_options": listed(_OPTION, 10), "confirm": _CONFIRM, "focus_on_load": flag},
    ),
    "radio_buttons": Shape(
        {"options": listed(_OPTION, 10)},
        {**_ID, "initial_option": _OPTION, "confirm": _CONFIRM, "focus_on_load": flag},
    ),
    "plain_text_input": Shape({}, {**_TYPED, "multiline": flag, "min_length": integer, "max_length": integer}),
    "email_text_input": Shape({}, _TYPED),
    "url_text_input": Shape({}, _TYPED),
    "number_input": Shape({"is_decimal_allowed": flag}, {**_TYPED, "min_value": text(30), "max_value": text(30)}),
    "file_input": Shape({}, {**_ID, "filetypes": listed(text(20), 100), "max_files": integer}),
    "rich_text_input": Shape({}, {**_ID, "initial_value": anything, "placeholder": plain(150), "focus_on_load": flag}),
    "workflow_button": Shape(
        {"text": plain(75), "workflow": anything},
        {**_ID, "style": word("primary", "danger"), "accessibility_label": text(75)},
    ),
    "feedback_buttons": Shape({"positive_button": _FEEDBACK, "negative_button": _FEEDBACK}, _ID),
    "icon_button": Shape(
        {"icon": word("trash"), "text": plain(75)},
        {
            **_ID,
            "value": text(2_000),
            "confirm": _CONFIRM,
            "accessibility_label": text(75),
            "visible_to_user_ids": listed(text(20), 100),
        },
    ),
    "image": IMAGE,
}

_CHOICES = frozenset(
    [
        "checkboxes",
        "radio_buttons",
        "overflow",
        "datepicker",
        "timepicker",
        "static_select",
        "external_select",
        "users_select",
        "conversations_select",
        "channels_select",
    ]
)
_MULTI = frozenset(f"multi_{kind}" for kind in _CHOICES if kind.endswith("_select"))
IN_ACTIONS = _CHOICES | _MULTI | {"button", "datetimepicker", "workflow_button", "rich_text_input"}
IN_SECTION = _CHOICES | _MULTI | {"button", "image", "workflow_button"}
IN_INPUT = (
    (_CHOICES - {"overflow"})
    | _MULTI
    | {"datetimepicker", "plain_text_input", "email_text_input", "url_text_input", "number_input"}
    | {"file_input", "rich_text_input"}
)
IN_CONTEXT_ACTIONS = frozenset({"feedback_buttons", "icon_button"})

ACTION = typed(ELEMENTS, frozenset(IN_ACTIONS))
ACCESSORY = typed(ELEMENTS, frozenset(IN_SECTION))
INPUT = typed(ELEMENTS, frozenset(IN_INPUT))
CONTEXT_ACTION = typed(ELEMENTS, IN_CONTEXT_ACTIONS)
CONTEXT = typed({"image": IMAGE, "plain_text": plain(2_000), "mrkdwn": rich(2_000)})
