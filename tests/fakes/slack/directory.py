"""The methods about the token, people, workspaces and apps, and the socket's address."""

from tests.fakes.slack.errors import ApiError, bad_arguments, refused
from tests.fakes.slack.model import JsonObject, JsonValue, Person, present
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import App, Installation, Ticket


def auth_test(platform: Platform, caller: Installation, _params: Params) -> JsonObject:
    team = platform.teams[caller.bot.team_id]
    return present(
        {
            "url": f"https://{team.domain}.slack.com/",
            "team": team.name,
            "user": platform.people[caller.bot.user_id].name,
            "team_id": team.id,
            "user_id": caller.bot.user_id,
            "bot_id": caller.bot.bot_id,
            "enterprise_id": team.enterprise_id,
            "is_enterprise_install": False,
        }
    )


def api_test(_platform: Platform, _caller: Installation, params: Params) -> JsonObject:
    if error := params.text("error"):
        raise ApiError(error)
    return {"args": params.values}


def connections_open(platform: Platform, app: App) -> JsonObject:
    if not app.socket_mode:
        raise ApiError("forbidden_team")
    ticket = platform.new_secret("ticket")
    platform.tickets[ticket] = Ticket(app.id, platform.clock())
    return {"url": f"{platform.url.replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id={app.id}"}


def users_info(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    person = platform.people.get(params.text("user") or "")
    if person is None:
        raise ApiError("user_not_found")
    return {"user": person_json(platform, caller, person, with_locale=params.flag("include_locale"))}


def person_json(platform: Platform, caller: Installation, person: Person, *, with_locale: bool = False) -> JsonObject:
    """https://docs.slack.dev/reference/objects/user-object."""
    stranger = person.team_id != caller.bot.team_id
    profile: JsonObject = {
        "real_name": person.real_name,
        "real_name_normalized": person.real_name,
        "display_name": "" if person.is_bot else person.name,
        "display_name_normalized": "" if person.is_bot else person.name,
        "team": person.team_id,
        "api_app_id": person.app_id or None,
        "bot_id": person.bot_id or None,
    }
    home = platform.teams.get(person.team_id)
    if "users:read.email" in caller.scopes and not person.is_bot:
        profile["email"] = f"{person.name}@example.com"
    return present(
        {
            "id": person.id,
            "team_id": person.team_id,
            "name": person.name,
            "deleted": person.deleted,
            "real_name": person.real_name,
            "tz": "Europe/Berlin",
            "tz_label": "Central European Time",
            "tz_offset": 3600,
            "profile": present(profile),
            "is_admin": person.is_admin,
            "is_owner": False,
            "is_primary_owner": False,
            "is_restricted": False,
            "is_ultra_restricted": False,
            "is_bot": person.is_bot,
            "is_stranger": stranger or None,
            "is_app_user": False,
            "updated": 1_700_000_000,
            "locale": person.locale if with_locale else None,
            "enterprise_user": _enterprise_user(platform, person, home.enterprise_id) if home is not None else None,
        }
    )


def _enterprise_user(platform: Platform, person: Person, organization: str | None) -> JsonObject | None:
    """https://docs.slack.dev/reference/objects/user-object: of whoever is in an organization."""
    if organization is None:
        return None
    teams: list[JsonValue] = [one.id for one in platform.teams.values() if one.enterprise_id == organization]
    return {
        "id": person.id,
        "enterprise_id": organization,
        "enterprise_name": "Org",
        "is_admin": person.runs_organization,
        "is_owner": False,
        "teams": teams,
    }


def team_info(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    team = platform.teams.get(params.text("team") or caller.bot.team_id)
    if team is None or team.id != caller.bot.team_id:
        raise ApiError("team_not_found")
    body: JsonObject = {
        "id": team.id,
        "name": team.name,
        "domain": team.domain,
        "email_domain": "",
        "url": f"https://{team.domain}.slack.com/",
        "enterprise_id": team.enterprise_id,
    }
    return {"team": present(body)}


def bots_info(platform: Platform, _caller: Installation, params: Params) -> JsonObject:
    wanted = params.text("bot")
    for person in platform.people.values():
        if person.bot_id and person.bot_id == wanted:
            body: JsonObject = {
                "id": person.bot_id,
                "deleted": person.deleted,
                "name": person.name,
                "updated": 1_700_000_000,
                "app_id": person.app_id,
                "user_id": person.id,
                "icons": {},
            }
            return {"bot": body}
    raise ApiError("bot_not_found")


def lookup_by_email(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    email = params.needed("email")
    for person in platform.people.values():
        if person.team_id == caller.bot.team_id and email == f"{person.name}@example.com":
            return {"user": person_json(platform, caller, person)}
    raise ApiError("users_not_found")


def manifest_validate(_platform: Platform, _caller: Installation, params: Params) -> JsonObject:
    """Only the outermost shape: https://docs.slack.dev/reference/app-manifest."""
    manifest = params.object("manifest", "invalid_manifest")
    if manifest is None:
        raise bad_arguments("missing required field: manifest")
    information = manifest.get("display_information")
    name = information.get("name") if isinstance(information, dict) else None
    faults: list[JsonValue] = []
    if not isinstance(name, str) or not 1 <= len(name) <= 35:
        faults.append({"message": "must be 1 to 35 characters", "pointer": "/display_information/name"})
    if faults:
        raise ApiError("invalid_manifest", problem="invalid_manifest", extra={"errors": faults})
    if not isinstance(manifest.get("oauth_config", {}), dict):
        raise refused("invalid_manifest")
    return {"errors": faults}
