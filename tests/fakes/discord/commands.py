"""Application commands: https://docs.discord.com/developers/interactions/application-commands."""

import unicodedata

from tests.fakes.discord.errors import ApiError, missing_access, unknown
from tests.fakes.discord.forms import Faults, Form
from tests.fakes.discord.model import JsonObject, JsonValue, objects
from tests.fakes.discord.platform import Account, Platform
from tests.fakes.discord.request import NOTHING, Reply, Request

CHAT_INPUT, USER_MENU, MESSAGE_MENU = 1, 2, 3
KINDS = frozenset({CHAT_INPUT, USER_MENU, MESSAGE_MENU})
MOST = {CHAT_INPUT: 100, USER_MENU: 15, MESSAGE_MENU: 15}
SUBCOMMAND, GROUP, STRING, INTEGER, NUMBER = 1, 2, 3, 4, 10
MOST_CHARACTERS = 8000
_KEPT = (
    "name_localizations",
    "description_localizations",
    "default_member_permissions",
    "dm_permission",
    "nsfw",
    "contexts",
    "integration_types",
    "options",
)


def _slot(platform: Platform, request: Request) -> list[JsonObject]:
    """The list that the path names. Raises `ApiError` for another application or a foreign guild."""
    account = request.bot
    if request.ids["application"] != account.application_id:
        raise ApiError(403, 20012, "You are not authorized to perform this action on this application", rule="foreign")
    guild_id = request.ids.get("guild")
    if guild_id is None:
        return account.global_commands
    guild = platform.guilds.get(guild_id)
    if guild is None or account.user_id not in guild.members:
        raise missing_access()
    return account.guild_commands.setdefault(guild_id, [])


def get_commands(platform: Platform, request: Request) -> Reply:
    listed: list[JsonValue] = list(_slot(platform, request))
    return Reply(body=listed)


def get_command(platform: Platform, request: Request) -> Reply:
    return Reply(body=_find(_slot(platform, request), request.ids["command"]))


def _find(slot: list[JsonObject], command_id: int) -> JsonObject:
    for command in slot:
        if command["id"] == str(command_id):
            return command
    raise unknown("application command")


def overwrite_commands(platform: Platform, request: Request) -> Reply:
    """The whole list anew; a command of the same name and type keeps its id."""
    slot = _slot(platform, request)
    faults = Faults()
    if request.items is None:
        faults.add("", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
    faults.refuse()
    given = [one for one in request.items or [] if isinstance(one, dict)]
    made: list[JsonObject] = []
    for index, one in enumerate(given):
        form = Form(one, faults, str(index))
        checked = check_command(form)
        if any(_key(checked) == _key(other) for other in made):
            form.fault_here("APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
        made.append(checked)
    for kind, most in MOST.items():
        if sum(one["type"] == kind for one in made) > most:
            faults.add("", "APPLICATION_COMMAND_TOO_MANY", f"Maximum number of application commands reached ({most})")
    faults.refuse()
    known = {_key(one): one["id"] for one in slot}
    slot[:] = [_stored(platform, request, one, known.get(_key(one))) for one in made]
    request.bot.command_writes += 1
    listed: list[JsonValue] = list(slot)
    return Reply(body=listed)


def create_command(platform: Platform, request: Request) -> Reply:
    """One of the same name and type is replaced: 200, else 201."""
    slot = _slot(platform, request)
    form = Form(request.body, Faults())
    checked = check_command(form)
    same = [one for one in slot if _key(one) == _key(checked)]
    if not same and sum(one["type"] == checked["type"] for one in slot) >= MOST[int(str(checked["type"]))]:
        form.fault_here("APPLICATION_COMMAND_TOO_MANY", "Maximum number of application commands reached (100)")
    form.faults.refuse()
    stored = _stored(platform, request, checked, same[0]["id"] if same else None)
    slot[:] = [one for one in slot if one not in same] + [stored]
    request.bot.command_writes += 1
    return Reply(status=200 if same else 201, body=stored)


def edit_command(platform: Platform, request: Request) -> Reply:
    slot = _slot(platform, request)
    found = _find(slot, request.ids["command"])
    form = Form({**found, **request.body, "type": found["type"]}, Faults())
    checked = check_command(form)
    form.faults.refuse()
    stored = _stored(platform, request, checked, found["id"])
    slot[slot.index(found)] = stored
    request.bot.command_writes += 1
    return Reply(body=stored)


def delete_command(platform: Platform, request: Request) -> Reply:
    slot = _slot(platform, request)
    slot.remove(_find(slot, request.ids["command"]))
    request.bot.command_writes += 1
    return NOTHING


def _key(command: JsonObject) -> tuple[JsonValue, JsonValue]:
    return command["name"], command["type"]


def _stored(platform: Platform, request: Request, checked: JsonObject, command_id: JsonValue) -> JsonObject:
    stored: JsonObject = {
        "id": command_id or str(platform.new_id()),
        "application_id": str(request.bot.application_id),
        "version": str(platform.new_id()),
        "default_member_permissions": None,
        "nsfw": False,
        **checked,
    }
    if "guild" in request.ids:
        stored["guild_id"] = str(request.ids["guild"])
    return stored


def check_command(form: Form) -> JsonObject:
    """The command without what Discord would not keep; its faults are in the form."""
    kind = form.choice("type", KINDS) or CHAT_INPUT
    name = _check_name(form, free=kind != CHAT_INPUT)
    description = form.text("description", most=100)
    if kind == CHAT_INPUT:
        description = form.text("description", least=1, most=100, required=True)
        _check_options(form, depth=0)
        if _characters(form.values) > MOST_CHARACTERS:
            form.fault_here("APPLICATION_COMMAND_TOO_LARGE", f"Command exceeds maximum size ({MOST_CHARACTERS})")
    elif description or form.values.get("options"):
        form.fault("description", "APPLICATION_COMMAND_DESCRIPTION_INVALID", "Context menu commands cannot have one")
    form.array("contexts", most=3)
    form.array("integration_types", most=2)
    kept = {key: form.values[key] for key in _KEPT if form.values.get(key) is not None}
    return {"name": name, "type": kind, "description": description or "", **kept}


def _check_name(form: Form, *, free: bool) -> str:
    name = form.text("name", least=1, most=32, required=True) or ""
    if not free and name and (not all(_in_name(sign) for sign in name) or name != name.lower()):
        form.fault("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    return name


def _in_name(sign: str) -> bool:
    """[-_'\\p{L}\\p{N}\\p{sc=Deva}\\p{sc=Thai}], as the documentation has it."""
    scripts = unicodedata.name(sign, "").startswith(("DEVANAGARI", "THAI"))
    return sign in "-_'" or unicodedata.category(sign)[0] in "LN" or scripts


def _check_options(form: Form, depth: int) -> None:
    options = form.each("options", most=25)
    names: set[str] = set()
    optional_seen = False
    kinds = set()
    for option in options:
        kind = option.choice("type", frozenset(range(1, 12)), required=True)
        kinds.add(kind in {SUBCOMMAND, GROUP})
        name = _check_name(option, free=False)
        option.text("description", least=1, most=100, required=True)
        if name in names:
            option.fault("name", "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", f"Option name {name} is taken")
        names.add(name)
        if kind in {SUBCOMMAND, GROUP}:
            if depth >= (1 if kind == GROUP else 2):
                option.fault("type", "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "Sub-command option type is invalid")
            _check_options(option, depth + 1)
            continue
        required = option.flag("required")
        if required and optional_seen:
            words = "Required options must be placed before non-required options"
            option.fault_here("APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", words)
        optional_seen = optional_seen or not required
        _check_choices(option, kind)
    if len(kinds) > 1:
        form.fault("options", "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "Sub-commands and options do not mix")


def _check_choices(option: Form, kind: int | None) -> None:
    completes = option.flag("autocomplete")
    choices = option.each("choices", most=25)
    choosable = kind in {STRING, INTEGER, NUMBER}
    if completes and (choices or not choosable):
        words = "Autocomplete is for strings and numbers without choices"
        option.fault("autocomplete", "APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_INVALID", words)
    if choices and not choosable:
        option.fault("choices", "APPLICATION_COMMAND_OPTIONS_CHOICES_INVALID", "Choices are for strings and numbers")
    for choice in choices:
        check_choice(choice, kind)


def check_choice(choice: Form, kind: int | None) -> None:
    """A choice of a command or of a request for suggestions."""
    choice.text("name", least=1, most=100, required=True)
    value = choice.values.get("value")
    if kind == STRING:
        choice.text("value", least=1, most=100, required=True)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        choice.fault("value", "NUMBER_TYPE_COERCE", f'Value "{value}" is not a number.')


def _characters(command: JsonObject) -> int:
    """Names, descriptions and values of a command, its options and choices."""
    own = sum(len(str(command.get(name, ""))) for name in ("name", "description"))
    inner = [*objects(command.get("options")), *objects(command.get("choices"))]
    value = command.get("value")
    return own + (len(value) if isinstance(value, str) else 0) + sum(_characters(one) for one in inner)


def offered(account: Account, guild_id: int | None) -> list[JsonObject]:
    """What people are offered in a guild (or in the direct chat): guild commands hide global ones of their name."""
    local = account.guild_commands.get(guild_id, []) if guild_id is not None else []
    hidden = {_key(one) for one in local}
    return local + [one for one in account.global_commands if _key(one) not in hidden and _fits(one, guild_id)]


def _fits(command: JsonObject, guild_id: int | None) -> bool:
    contexts = command.get("contexts")
    if isinstance(contexts, list):
        return (0 if guild_id is not None else 1) in contexts
    return guild_id is not None or command.get("dm_permission") is not False
