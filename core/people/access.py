"""Who may speak to us, and as what. Identity is `platform:USER` or `platform:REALM/USER`, immutable ids only."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from core.store.people import Role
from core.vocabulary import ChatId, Sender, UserId

DirectMode = Literal["pairing", "allow", "open", "off"]
ConsentBy = Literal["owner", "let_in", "asker"]
"""Who may allow a call that waits for consent. Owners always may."""
EVERY_GROUP = ChatId("*")


class Access(Struct, frozen=True, kw_only=True):
    """What the configuration says for one bot."""

    direct: DirectMode
    groups: frozenset[ChatId] = frozenset()
    owners: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    allow_bots: bool = False
    """Are other bots heard?"""
    local: bool = False
    """Only the machine's own user can reach this bot; whoever does is its owner."""

    def role(self, identity: str, stored: Role | None) -> Role | None:
        """The configuration names owners and users; blocking, pairing and promotion are stored. None: a stranger."""
        if self.local or identity in self.owners:
            return Role.OWNER
        if stored is not None:
            return stored
        return Role.USER if identity in self.allowed else None


class AccessRules(Struct, frozen=True, kw_only=True):
    """Every bot's access; a bot that is not named here lets nobody in."""

    bots: dict[str, Access] = field(default_factory=dict)

    @property
    def has_owners(self) -> bool:
        """Does the configuration name an owner?"""
        return any(access.owners for access in self.bots.values())

    def of(self, bot: str) -> Access:
        return self.bots.get(bot, Access(direct="off"))


def allows(consent_by: ConsentBy, role: str) -> bool:
    """May somebody with this role allow a call that was made for them?"""
    match consent_by:
        case "owner":
            return role == Role.OWNER
        case "let_in":
            return role in (Role.OWNER, Role.USER)
        case "asker":
            return True


def identity_of(platform: str, sender: Sender) -> str | None:
    """None where no person stands behind the message."""
    if sender.user is None:
        return None
    return f"{platform}:{sender.realm}/{sender.user}" if sender.realm else f"{platform}:{sender.user}"


def user_of(identity: str) -> UserId:
    """The platform's user id in an identity."""
    return UserId(identity.partition(":")[2].rpartition("/")[2])
