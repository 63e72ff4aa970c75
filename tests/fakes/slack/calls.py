"""One API call from the door to its effect: token, scope, rate, parameters, handler. Under the platform's lock."""

from dataclasses import dataclass

from tests.fakes.slack.directory import connections_open
from tests.fakes.slack.errors import ApiError, missing_scope, refused
from tests.fakes.slack.methods import CONNECTIONS_OPEN, METHODS, Method
from tests.fakes.slack.model import JsonObject
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import App, Installation


@dataclass
class Incoming:
    """One request. `number` is the call's place in the journal; `refusal` is what was wrong with its body."""

    name: str
    verb: str
    token: str
    values: JsonObject
    is_json: bool
    number: int
    refusal: ApiError | None = None

    @property
    def method(self) -> Method | None:
        return METHODS.get(self.name)


def carry_out(platform: Platform, call: Incoming) -> JsonObject:
    """Applies the call and returns its answer. Raises `ApiError`."""
    result = _open_connection(platform, call) if call.name == CONNECTIONS_OPEN.name else _call_as_bot(platform, call)
    platform.journal.applied(call.number, result)
    return {"ok": True, **result}


def scopes_told(platform: Platform, call: Incoming) -> dict[str, str]:
    """With each answer Slack tells what the token may do, and what the method asks for."""
    caller = platform.installations.get(_token(call))
    needed = ",".join(call.method.scopes) if call.method is not None else ""
    return {} if caller is None else {"X-OAuth-Scopes": caller.provided, "X-Accepted-OAuth-Scopes": needed}


def _call_as_bot(platform: Platform, call: Incoming) -> JsonObject:
    caller = _caller(platform, call)
    platform.journal.known(call.number, caller.app.id, caller.bot.team_id)
    method = call.method
    if method is None:
        raise ApiError("unknown_method", problem="unknown_method", extra={"req_method": call.name})
    if call.refusal is not None:
        raise call.refusal
    if method.scopes and not caller.scopes & set(method.scopes):
        raise missing_scope(",".join(method.scopes), caller.provided)
    params = Params(_understood(platform, call, method), call.number)
    channel = params.values.get("channel", params.values.get("channel_id"))
    platform.rates.admit(caller.owner, method.name, method.tier, channel if isinstance(channel, str) else "")
    if unknown := sorted(call.values.keys() - method.parameters - {"token"}):
        platform.remark("unknown_parameter", call.number, ", ".join(unknown))
    return method.handler(platform, caller, params)


def _understood(platform: Platform, call: Incoming, method: Method) -> JsonObject:
    """Slack overlooks a JSON body where a method takes forms only."""
    if call.is_json and not method.takes_json:
        platform.remark("json_not_taken", call.number, f"{call.name} takes a form, not JSON")
        return {}
    return call.values


def _caller(platform: Platform, call: Incoming) -> Installation:
    token = _token(call)
    if token in platform.dead_tokens:
        raise ApiError(platform.dead_tokens[token])
    installation = platform.installations.get(token)
    if installation is None:
        known = any(app.app_token == token for app in platform.apps.values())
        raise ApiError("not_allowed_token_type" if known else "invalid_auth")
    if installation.state != "active":
        raise ApiError(installation.state)
    return installation


def _open_connection(platform: Platform, call: Incoming) -> JsonObject:
    token = _token(call)
    app = _app(platform, token)
    platform.journal.known(call.number, app.id, "")
    if call.verb != "POST":
        raise refused("insecure_request")
    if app.app_token_state != "active":
        raise ApiError(app.app_token_state)
    if "connections:write" not in app.app_scopes:
        raise missing_scope("connections:write", ",".join(sorted(app.app_scopes)))
    platform.rates.admit(app.id, call.name, CONNECTIONS_OPEN.tier, "")
    return connections_open(platform, app)


def _app(platform: Platform, token: str) -> App:
    for app in platform.apps.values():
        if app.app_token == token:
            return app
    raise ApiError("not_allowed_token_type" if token in platform.installations else "invalid_auth")


def _token(call: Incoming) -> str:
    """From the header, or from a form; in JSON and in the query it does not count."""
    given = call.values.get("token")
    token = call.token or (given if isinstance(given, str) and not call.is_json else "")
    if not token:
        raise ApiError("not_authed")
    return token
