"""Home tabs and modals: https://docs.slack.dev/surfaces/modals, https://docs.slack.dev/surfaces/app-home."""

import json
from dataclasses import replace

from tests.fakes.slack.blocks import check_view
from tests.fakes.slack.composing import with_ids
from tests.fakes.slack.delivery import Delivery
from tests.fakes.slack.elements import SUGGESTED
from tests.fakes.slack.errors import ApiError, bad_arguments, refused
from tests.fakes.slack.model import JsonObject, JsonValue, View, objects_of, text_of
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation, Trigger

TRIGGER_S = 3.0
MAX_STACK = 3
MAX_VIEW_BYTES = 250_000


def publish(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    user_id = params.needed("user_id")
    person = platform.people.get(user_id)
    if person is None or person.team_id != caller.bot.team_id:
        raise bad_arguments("invalid `user_id`")
    body = _body(platform, params, "home")
    if not caller.app.home_tab:
        raise ApiError("not_enabled")
    before = home_of(platform, caller.app.id, user_id)
    given = params.text("hash")
    if given is not None and (before is None or given != before.hash):
        raise ApiError("hash_conflict")
    view = _kept(platform, caller.app.id, user_id, body, before)
    return {"view": view_json(platform, view)}


def open_view(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    body = _body(platform, params, "modal")
    trigger = _exchanged(platform, caller, params)
    return {"view": view_json(platform, _kept(platform, caller.app.id, trigger.user_id, body, None))}


def push(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    body = _body(platform, params, "modal")
    trigger = _exchanged(platform, caller, params)
    below = platform.views.get(trigger.view_id or "")
    if below is None:
        raise ApiError("not_found")
    return {"view": view_json(platform, _pushed(platform, below, body))}


def update_view(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    view = _found(platform, caller, params)
    given = params.text("hash")
    if given is not None and given != view.hash:
        raise ApiError("hash_conflict")
    body = _body(platform, params, view.kind)
    return {"view": view_json(platform, _kept(platform, caller.app.id, view.user_id, body, view))}


def home_of(platform: Platform, app_id: str, user_id: str) -> View | None:
    for view in platform.views.values():
        if (view.kind, view.app_id, view.user_id) == ("home", app_id, user_id):
            return view
    return None


def view_json(platform: Platform, view: View) -> JsonObject:
    bots = [one.bot for one in platform.installations.values() if one.app.id == view.app_id]
    team_id = platform.people[view.user_id].team_id
    bot = next((one for one in bots if one.team_id == team_id), bots[0])
    return {
        "id": view.id,
        "team_id": bot.team_id,
        "type": view.kind,
        "private_metadata": "",
        "callback_id": "",
        "state": {"values": {}},
        "hash": view.hash,
        "clear_on_close": False,
        "notify_on_close": False,
        "previous_view_id": view.previous_id,
        "root_view_id": view.root_id or view.id,
        "app_id": view.app_id,
        "external_id": "",
        "bot_id": bot.bot_id,
        **view.body,
    }


def take_view_answer(platform: Platform, delivery: Delivery, payload: JsonObject) -> None:
    """`response_action` in the acknowledgement of a view_submission. Without one the modal closes."""
    view_id = text_of(delivery.payload, "view", "id")
    view = platform.views.get(view_id)
    if delivery.payload.get("type") != "view_submission" or view is None:
        raise refused("payload_not_accepted", "only view_submission is answered")
    action, wanted = payload.get("response_action"), payload.get("view")
    if action == "errors" and isinstance(payload.get("errors"), dict):
        platform.views[view_id] = replace(view, closed=False)
    elif action == "clear":
        _close_stack(platform, view)
    elif action in {"update", "push"} and isinstance(wanted, dict):
        body = _checked(platform, wanted, "modal")
        if action == "push":
            _pushed(platform, view, body)
        else:
            _kept(platform, view.app_id, view.user_id, body, replace(view, closed=False))
    else:
        raise refused("invalid_arguments", f"response_action {action}")


def take_options(platform: Platform, delivery: Delivery, payload: JsonObject) -> None:
    """What a menu offers."""
    faults: list[str] = []
    SUGGESTED(payload, "", faults)
    if not payload.keys() & {"options", "option_groups"}:
        faults.append("missing required field: options or option_groups")
    if faults:
        raise bad_arguments(*faults)
    groups = objects_of(payload.get("option_groups"))
    listed = [*objects_of(payload.get("options")), *(one for group in groups for one in objects_of(group["options"]))]
    platform.suggested[text_of(delivery.payload, "view", "id"), text_of(delivery.payload, "action_id")] = listed


def _close_stack(platform: Platform, view: View) -> None:
    root = view.root_id or view.id
    for one in list(platform.views.values()):
        if root in {one.id, one.root_id}:
            platform.views[one.id] = replace(one, closed=True)


def _body(platform: Platform, params: Params, kind: str) -> JsonObject:
    view = params.object("view")
    if view is None:
        raise bad_arguments("missing required field: view")
    return _checked(platform, view, kind)


def _checked(platform: Platform, view: JsonObject, kind: str) -> JsonObject:
    if len(json.dumps(view)) > MAX_VIEW_BYTES:
        raise refused("view_too_large")
    check_view(view, kind)
    blocks: list[JsonValue] = list(with_ids(platform, objects_of(view.get("blocks"))))
    return {**view, "blocks": blocks}


def _kept(platform: Platform, app_id: str, user_id: str, body: JsonObject, before: View | None) -> View:
    stamp = platform.new_ts()
    view = View(
        id=before.id if before is not None else platform.new_id("V"),
        app_id=app_id,
        user_id=user_id,
        kind=text_of(body, "type"),
        body=body,
        hash=f"{stamp}.{platform.new_secret('hash')[:8]}",
        at=platform.clock(),
        previous_id=before.previous_id if before is not None else None,
        root_id=before.root_id if before is not None else None,
    )
    platform.views[view.id] = view
    return view


def _pushed(platform: Platform, below: View, body: JsonObject) -> View:
    root = below.root_id or below.id
    depth = sum(1 for one in platform.views.values() if not one.closed and root in {one.id, one.root_id})
    if depth >= MAX_STACK:
        raise refused("push_limit_reached")
    view = _kept(platform, below.app_id, below.user_id, body, None)
    view = replace(view, previous_id=below.id, root_id=root)
    platform.views[view.id] = view
    return view


def _exchanged(platform: Platform, caller: Installation, params: Params) -> Trigger:
    trigger = platform.triggers.get(params.text("trigger_id") or "")
    if trigger is None or trigger.app_id != caller.app.id:
        raise refused("invalid_trigger_id")
    if trigger.used:
        raise refused("exchanged_trigger_id")
    if platform.clock() - trigger.at > TRIGGER_S:
        raise refused("expired_trigger_id", f"after {platform.clock() - trigger.at:.1f} s")
    trigger.used = True
    return trigger


def _found(platform: Platform, caller: Installation, params: Params) -> View:
    view_id, external_id = params.text("view_id"), params.text("external_id")
    for view in platform.views.values():
        matches = view.id == view_id or (external_id and text_of(view.body, "external_id") == external_id)
        if matches and view.app_id == caller.app.id and not view.closed:
            return view
    raise ApiError("not_found")
