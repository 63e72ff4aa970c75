"""The cast, and what an admin may do to an app. Thread-safe throughout."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from tests.fakes.slack.delivery import ANSWER_S, RETRIES_S
from tests.fakes.slack.model import Bot, Channel, ChannelKind, Person, Team
from tests.fakes.slack.opening import Openings
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.rates import RateLimits
from tests.fakes.slack.records import App, Installation, TokenState
from tests.secrets import keep

SCOPES = frozenset(
    [
        "app_mentions:read",
        "assistant:write",
        "channels:history",
        "channels:join",
        "channels:read",
        "chat:write",
        "commands",
        "files:read",
        "files:write",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "im:write",
        "mpim:history",
        "mpim:read",
        "mpim:write",
        "reactions:read",
        "reactions:write",
        "team:read",
        "users:read",
    ]
)


class ServerOptions(TypedDict, total=False):
    """`limits=None` switches the platform's own rate limits off; injected 429s still work. `retries_s` are the waits
    before each further attempt to deliver an event, `answer_s` the time to answer one."""

    clock: Callable[[], float]
    limits: RateLimits | None
    answer_s: float
    retries_s: tuple[float, ...]


class Cast(Openings):
    """Who is there: workspaces, people, apps, channels. `team` and `bot` are there from the beginning."""

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        options.setdefault("limits", RateLimits())
        options.setdefault("answer_s", ANSWER_S)
        options.setdefault("retries_s", RETRIES_S)
        super().__init__(Platform(**options))
        self.team = self.add_team("Acme")
        self.bot = self.add_bot("frontdesk")

    def add_team(self, name: str, *, enterprise_id: str | None = None) -> Team:
        with self.platform.lock:
            team = Team(id=self.platform.new_id("T"), name=name, domain=name.lower(), enterprise_id=enterprise_id)
            self.platform.teams[team.id] = team
            return team

    def add_bot(
        self,
        name: str,
        *,
        team: Team | None = None,
        app_of: Bot | None = None,
        scopes: Iterable[str] = SCOPES,
    ) -> Bot:
        """An app of ours, installed in `team` (the default one). `app_of`: the same app in another workspace."""
        with self.platform.lock:
            team_id = (team or self.team).id
            app = self._app(name) if app_of is None else self.platform.apps[app_of.app_id]
            token = keep(f"xoxb-{self.platform.new_secret('bot')}")
            bot = Bot(
                app_id=app.id,
                team_id=team_id,
                bot_id=self.platform.new_id("B"),
                user_id=self.platform.new_id("U"),
                name=name,
                token=token,
                app_token=app.app_token,
                signing_secret=app.signing_secret,
            )
            self.platform.people[bot.user_id] = Person(
                id=bot.user_id, team_id=team_id, name=name, real_name=name, bot_id=bot.bot_id, app_id=app.id
            )
            self.platform.installations[token] = Installation(bot, app, set(scopes))
            return bot

    def _app(self, name: str) -> App:
        app_id = self.platform.new_id("A")
        app = App(
            id=app_id,
            name=name,
            app_token=keep(f"xapp-1-{app_id}-{self.platform.new_secret('app')}"),
            signing_secret=keep(self.platform.new_secret("signing")[:32]),
        )
        self.platform.apps[app.id] = app
        return app

    def person(
        self,
        name: str = "ada",
        *,
        team: Team | None = None,
        locale: str = "en-US",
        is_admin: bool = False,
        runs_organization: bool = False,
    ) -> Person:
        with self.platform.lock:
            who = Person(
                id=self.platform.new_id("U"),
                team_id=(team or self.team).id,
                name=name.lower(),
                real_name=name.title(),
                locale=locale,
                is_admin=is_admin,
                runs_organization=runs_organization,
            )
            self.platform.people[who.id] = who
            return who

    def other_bot(self, name: str = "jenkins", *, team: Team | None = None) -> Person:
        """A bot that is not ours. `say(..., subtype="bot_message")` speaks as the oldest kind does."""
        with self.platform.lock:
            who = Person(
                id=self.platform.new_id("U"),
                team_id=(team or self.team).id,
                name=name,
                real_name=name,
                bot_id=self.platform.new_id("B"),
                app_id=self.platform.new_id("A"),
            )
            self.platform.people[who.id] = who
            return who

    def channel(
        self,
        name: str = "general",
        *,
        private: bool = False,
        members: Sequence[Person | Bot] = (),
        with_bot: bool = True,
        team: Team | None = None,
    ) -> Channel:
        """A channel; our bots of that workspace are in it if `with_bot`."""
        with self.platform.lock:
            team_id = (team or self.team).id
            kind: ChannelKind = "group" if private else "channel"
            channel = Channel(id=self.platform.new_id("C"), kind=kind, name=name, team_id=team_id)
            inside = {one.user_id if isinstance(one, Bot) else one.id for one in members}
            if with_bot:
                inside |= {one.bot.user_id for one in self.platform.installed(team_id)}
            self.platform.add_room(channel, inside)
            return channel

    def im(self, who: Person, bot: Bot | None = None) -> Channel:
        """The direct conversation of a person with our bot."""
        with self.platform.lock:
            return self.platform.im(who.id, (bot or self.bot).user_id).channel

    def mpim(self, *people: Person, bot: Bot | None = None) -> Channel:
        with self.platform.lock:
            members = {one.id for one in people} | {(bot or self.bot).user_id}
            name = f"mpdm-{'--'.join(one.name for one in people)}-1"
            channel = Channel(id=self.platform.new_id("C"), kind="mpim", name=name, team_id=people[0].team_id)
            return self.platform.add_room(channel, members).channel

    def as_person(self, bot: Bot) -> Person:
        """Our bot as a member, to let it join, leave or be spoken of."""
        with self.platform.lock:
            return self.platform.people[bot.user_id]

    # what an admin does to an app

    def set_scopes(self, scopes: Iterable[str], bot: Bot | None = None) -> None:
        with self.platform.lock:
            self._installation(bot).scopes = set(scopes)

    def remove_scope(self, *scopes: str, bot: Bot | None = None) -> None:
        with self.platform.lock:
            self._installation(bot).scopes -= set(scopes)

    def set_token_state(self, state: TokenState, bot: Bot | None = None) -> None:
        """The bot token is revoked, its workspace deleted, and so on; "active" undoes it."""
        with self.platform.lock:
            self._installation(bot).state = state
            self.platform.changed()

    def set_app_token_state(self, state: TokenState, bot: Bot | None = None) -> None:
        with self.platform.lock:
            self.app(bot).app_token_state = state

    def rotate_token(self, bot: Bot | None = None) -> Bot:
        """The old token is revoked; the bot has a new one."""
        with self.platform.lock:
            old = bot or self.bot
            fresh = replace(old, token=keep(f"xoxb-{self.platform.new_secret('bot')}"))
            installation = self.platform.installations.pop(old.token)
            self.platform.installations[fresh.token] = replace(installation, bot=fresh)
            self.platform.dead_tokens[old.token] = "token_revoked"
            if old == self.bot:
                self.bot = fresh
            return fresh

    def app(self, bot: Bot | None = None) -> App:
        """The app's settings, to be changed under `platform.lock` or before anything runs."""
        return self.platform.apps[(bot or self.bot).app_id]

    def _installation(self, bot: Bot | None) -> Installation:
        return self.platform.installations[(bot or self.bot).token]
