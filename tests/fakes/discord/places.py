"""How tests make bots, people, guilds, channels, roles and threads. Every method is thread-safe."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from tests.fakes.discord import permissions as may
from tests.fakes.discord.events import GUILD_MEMBERS, GUILDS, dispatch, tell_of_channel
from tests.fakes.discord.model import FORUM, PUBLIC_THREAD, TEXT, Channel, Guild, JsonObject, Message, Role, User
from tests.fakes.discord.platform import MESSAGE_CONTENT, Account, GuildState, Member, Platform, Room
from tests.fakes.discord.threads import set_thread, start_on_message, start_without_message
from tests.fakes.discord.wire import guild_create_json, member_json
from tests.secrets import keep


def id_of(one: "User | Guild | Channel | Role | Message | int") -> int:
    return one if isinstance(one, int) else one.id


class Places:
    """Who there is, and where they talk."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    # bots and people

    def account(
        self,
        username: str,
        *,
        token: str | None = None,
        privileged: int = MESSAGE_CONTENT,
        ids: tuple[int, int] | None = None,
    ) -> User:
        """Another bot. `privileged`: the privileged intents that are enabled for it. `ids`: of user and application."""
        with self.platform.lock:
            user_id, application_id = ids or (self.platform.new_id(), self.platform.new_id())
            user = User(id=user_id, username=username, is_bot=True)
            self.platform.users[user.id] = user
            account = Account(
                token=keep(token or f"{secrets.token_urlsafe(18)}.G0dBl3.{secrets.token_urlsafe(28)}"),
                user_id=user.id,
                application_id=application_id,
                privileged=privileged,
            )
            self.platform.accounts.append(account)
            return user

    def token_of(self, bot: User | int) -> str:
        with self.platform.lock:
            return self._account(bot).token

    def application_of(self, bot: User | int) -> int:
        with self.platform.lock:
            return self._account(bot).application_id

    def revoke(self, bot: User | int, token: str | None = None) -> str:
        """The token is replaced: calls get 401, the gateway closes with 4004. Returns the new one."""
        with self.platform.lock:
            account = self._account(bot)
            account.token = keep(token or f"{secrets.token_urlsafe(18)}.R3v0k3.{secrets.token_urlsafe(28)}")
            for session in account.sessions:
                session.dead = True
                if session.link is not None:
                    session.link.close(4004)
            self.platform.changed()
            return account.token

    def enable(self, bot: User | int, privileged: int) -> None:
        """Which privileged intents are enabled for the bot from now on."""
        with self.platform.lock:
            self._account(bot).privileged = privileged

    def person(self, username: str = "ada", *, global_name: str | None = None, is_bot: bool = False) -> User:
        """Somebody. With `is_bot` it is a foreign bot that never connects here."""
        with self.platform.lock:
            name = global_name or (None if is_bot else username.capitalize())
            user = User(id=self.platform.new_id(), username=username, global_name=name, is_bot=is_bot)
            self.platform.users[user.id] = user
            return user

    def rename(self, user: User | int, username: str, global_name: str | None = None) -> User:
        """A person takes another name. Bots with the members intent are told."""
        with self.platform.lock:
            before = self.platform.users[id_of(user)]
            after = replace(before, username=username, global_name=global_name or username.capitalize())
            self.platform.users[after.id] = after
            for guild in self.platform.guilds.values():
                if after.id in guild.members:
                    body = member_json(self.platform, guild.members[after.id]) | {"guild_id": str(guild.id)}
                    self._tell_guild(guild, "GUILD_MEMBER_UPDATE", body, GUILD_MEMBERS)
            return after

    # guilds

    def guild(
        self,
        name: str = "Guild",
        members: Sequence[User] = (),
        *,
        owner: User | None = None,
        bots: Sequence[User] | None = None,
    ) -> Guild:
        """A guild with these people and our bots: all that exist, unless `bots` says which."""
        with self.platform.lock:
            owner = owner or self.person("owner")
            guild = GuildState(id=self.platform.new_id(), name=name, owner_id=owner.id)
            guild.roles[guild.id] = Role(id=guild.id, name="@everyone", permissions=may.USUAL, position=0)
            self.platform.guilds[guild.id] = guild
            for one in (owner, *members):
                guild.members[one.id] = Member(user_id=one.id, joined_at=self.platform.date())
            handle = Guild(id=guild.id, name=name, owner_id=owner.id)
            known = [self.platform.users[account.user_id] for account in self.platform.accounts]
            for bot in known if bots is None else bots:
                self.add_bot(handle, bot)
            return handle

    def add_bot(self, guild: Guild, bot: User) -> None:
        """A bot joins, with a managed role of its own: GUILD_CREATE."""
        with self.platform.lock:
            state = self.platform.guilds[guild.id]
            role = Role(id=self.platform.new_id(), name=bot.username, permissions=0, managed=True)
            state.roles[role.id] = role
            state.members[bot.id] = Member(user_id=bot.id, joined_at=self.platform.date(), roles={role.id})
            self._announce(state, self._account(bot))

    def remove_bot(self, guild: Guild, bot: User) -> None:
        """A bot is thrown out: GUILD_DELETE without `unavailable`."""
        with self.platform.lock:
            account = self._account(bot)
            del self.platform.guilds[guild.id].members[bot.id]
            body: JsonObject = {"id": str(guild.id)}
            dispatch(self.platform, account, "GUILD_DELETE", body, intent=GUILDS, guild_id=guild.id)

    def set_outage(self, guild: Guild, unavailable: bool) -> None:
        """The guild goes away for a while (GUILD_DELETE, unavailable) or comes back (GUILD_CREATE)."""
        with self.platform.lock:
            state = self.platform.guilds[guild.id]
            state.unavailable = unavailable
            body: JsonObject = {"id": str(guild.id), "unavailable": True}
            for account in self._accounts_in(state):
                if unavailable:
                    dispatch(self.platform, account, "GUILD_DELETE", body, intent=GUILDS, guild_id=guild.id)
                else:
                    self._announce(state, account)

    def join(self, guild: Guild, user: User) -> None:
        with self.platform.lock:
            state = self.platform.guilds[guild.id]
            state.members[user.id] = Member(user_id=user.id, joined_at=self.platform.date())
            body = member_json(self.platform, state.members[user.id]) | {"guild_id": str(guild.id)}
            self._tell_guild(state, "GUILD_MEMBER_ADD", body, GUILD_MEMBERS)

    def leave(self, guild: Guild, user: User) -> None:
        with self.platform.lock:
            state = self.platform.guilds[guild.id]
            del state.members[user.id]
            body: JsonObject = {"guild_id": str(guild.id), "user": self.platform.users[user.id].json()}
            self._tell_guild(state, "GUILD_MEMBER_REMOVE", body, GUILD_MEMBERS)

    # roles and permissions

    def role(self, guild: Guild, name: str, permissions: int = 0, *, mentionable: bool = False) -> Role:
        with self.platform.lock:
            state = self.platform.guilds[guild.id]
            role = Role(id=self.platform.new_id(), name=name, permissions=permissions, mentionable=mentionable)
            state.roles[role.id] = role
            body: JsonObject = {"guild_id": str(guild.id), "role": role.json()}
            self._tell_guild(state, "GUILD_ROLE_CREATE", body, GUILDS)
            return role

    def give(self, guild: Guild, user: User, *roles: Role) -> None:
        """Somebody gets roles. The bot itself is told without an intent."""
        with self.platform.lock:
            state = self.platform.guilds[guild.id]
            state.members[user.id].roles |= {role.id for role in roles}
            body = member_json(self.platform, state.members[user.id]) | {"guild_id": str(guild.id)}
            for account in self._accounts_in(state):
                intent = 0 if account.user_id == user.id else GUILD_MEMBERS
                dispatch(self.platform, account, "GUILD_MEMBER_UPDATE", body, intent=intent, guild_id=guild.id)

    def make_administrator(self, guild: Guild, user: User) -> Role:
        with self.platform.lock:
            role = self.role(guild, "Administrators", may.ADMINISTRATOR)
            self.give(guild, user, role)
            return role

    def set_everyone(self, guild: Guild, permissions: int) -> None:
        """What @everyone may do in the guild."""
        with self.platform.lock:
            state = self.platform.guilds[guild.id]
            state.roles[guild.id] = replace(state.roles[guild.id], permissions=permissions)
            body: JsonObject = {"guild_id": str(guild.id), "role": state.roles[guild.id].json()}
            self._tell_guild(state, "GUILD_ROLE_UPDATE", body, GUILDS)

    def overwrite(self, channel: Channel, who: User | Role | Guild, *, allow: int = 0, deny: int = 0) -> None:
        """For a member, a role or (the guild) @everyone, in one channel: CHANNEL_UPDATE."""
        with self.platform.lock:
            room = self.platform.rooms[channel.id]
            of_member = isinstance(who, User)
            room.overwrites[who.id] = may.Overwrite(id=who.id, of_member=of_member, allow=allow, deny=deny)
            tell_of_channel(self.platform, "CHANNEL_UPDATE", room)

    # channels

    def channel(self, guild: Guild, name: str = "general", *, type: int = TEXT) -> Channel:
        with self.platform.lock:
            room = Room(id=self.platform.new_id(), type=type, name=name, guild_id=guild.id)
            self.platform.rooms[room.id] = room
            tell_of_channel(self.platform, "CHANNEL_CREATE", room)
            return self._handle(room)

    def forum(self, guild: Guild, name: str = "ideas") -> Channel:
        return self.channel(guild, name, type=FORUM)

    def delete_channel(self, channel: Channel) -> None:
        """CHANNEL_DELETE or THREAD_DELETE; calls get 10003 from now on."""
        with self.platform.lock:
            room = self.platform.rooms[channel.id]
            tell_of_channel(self.platform, "THREAD_DELETE" if room.is_thread else "CHANNEL_DELETE", room)
            within = [one.id for one in self.platform.rooms.values() if one.parent_id == room.id]
            for room_id in (room.id, *within):
                del self.platform.rooms[room_id]

    def dm(self, person: User, bot: User | None = None) -> Channel:
        """The direct conversation of a person with our bot (or another)."""
        with self.platform.lock:
            account = self._account(bot) if bot is not None else self.platform.accounts[0]
            return self._handle(self.platform.dm_with(account, person.id))

    def close_door(self, person: User) -> None:
        """The person takes no direct messages of bots any more: 50007."""
        with self.platform.lock:
            self.platform.closed_dms.add(person.id)

    def open_door(self, person: User) -> None:
        with self.platform.lock:
            self.platform.closed_dms.discard(person.id)

    # threads

    def thread(
        self,
        channel: Channel,
        owner: User,
        name: str = "thread",
        *,
        message: Message | None = None,
        type: int = PUBLIC_THREAD,
    ) -> Channel:
        """Somebody starts a thread, on a message or without one. Posts of forums: `Acts.post`."""
        with self.platform.lock:
            parent = self.platform.rooms[channel.id]
            if message is None:
                return self._handle(start_without_message(self.platform, parent, owner.id, name, type))
            found = parent.messages[message.id]
            return self._handle(start_on_message(self.platform, found, owner.id, name))

    def archive(self, thread: Channel, *, locked: bool = False) -> None:
        """As people or time do it: THREAD_UPDATE."""
        with self.platform.lock:
            set_thread(self.platform, self.platform.rooms[thread.id], archived=True, locked=locked)

    def unarchive(self, thread: Channel) -> None:
        with self.platform.lock:
            set_thread(self.platform, self.platform.rooms[thread.id], archived=False, locked=False)

    def _handle(self, room: Room) -> Channel:
        return Channel(id=room.id, type=room.type, name=room.name, guild_id=room.guild_id, parent_id=room.parent_id)

    def _account(self, bot: User | int) -> Account:
        account = self.platform.account_of_user(id_of(bot))
        if account is None:
            raise KeyError(f"{bot} is no bot of this server")
        return account

    def _accounts_in(self, guild: GuildState) -> list[Account]:
        return [account for account in self.platform.accounts if account.user_id in guild.members]

    def _announce(self, guild: GuildState, account: Account) -> None:
        body = guild_create_json(self.platform, guild, account)
        dispatch(self.platform, account, "GUILD_CREATE", body, intent=GUILDS, guild_id=guild.id)

    def _tell_guild(self, guild: GuildState, name: str, body: JsonObject, intent: int) -> None:
        for account in self._accounts_in(guild):
            dispatch(self.platform, account, name, body, intent=intent, guild_id=guild.id)
