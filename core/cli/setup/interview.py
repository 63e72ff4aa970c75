"""The questions of `init`, in order. What an option answers is not asked, unless it turns out to be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from config.draft import settings_of
from config.faults import ConfigFaults
from core.cli.platforms import known_platforms
from core.cli.setup.account import AccountQuestions
from core.cli.setup.choices import NONE, Account, Choices
from core.cli.setup.handed import Handed, from_environ, from_file, is_exposed, lacking
from core.cli.setup.model import ModelQuestions
from core.cli.setup.owners import owners_asked, owners_read
from core.cli.setup.trying import sentence, words_of
from core.errors import VerbFailed
from core.ports import Questions

if TYPE_CHECKING:
    from core.cli.setup.given import Given
    from core.cli.setup.plan import Plan
    from core.cli.setup.seat import Seat


class Interview:
    """Each answer is tried before the next question."""

    def __init__(self, given: Given, plan: Plan, seat: Seat) -> None:
        self._given = given
        self._plan = plan
        self._seat = seat
        self.introduced: str | None = None
        """What the bot is called on its platform, once it said so."""

    def choices(self) -> Choices:
        """Everything that is to be chosen. Raises `VerbFailed`: with code 2 for what is missing or wrong in options,
        else for what failed when it was tried."""
        handed = Handed.by(self._given, self._plan.around.environ)
        self._check_options(handed)
        key = self._key()
        zone = self._zone(self._given.zone) if self._given.zone is not None or not self._seat.asks else None
        questions = self._platform(handed)
        owners = self._given_owners(questions)
        account = self._account(questions, handed) if questions else None
        model = ModelQuestions(self._given, self._plan.around.environ, self._seat).ask(key)
        if owners is None and account is not None and self._seat.asks:
            owners = owners_asked(account, self.introduced, self._plan.state, self._seat)
        return Choices(account=account, model=model, owners=owners or (), zone=zone or self._zone(None))

    # what stands in options

    def _check_options(self, handed: Handed) -> None:
        given = self._given
        self._warn()
        if self._seat.asks:
            return
        if given.platform is not None:
            self._is_platform(given.platform)
        if given.model not in (None, NONE):
            ModelQuestions(given, self._plan.around.environ, self._seat).is_sound(given.model, given.base_url)
        known = known_platforms()
        missing = [
            *([f"--platform ({', '.join(known)} or none)"] if given.platform is None else []),
            *([] if given.platform == NONE else lacking(known.get(given.platform or ""), handed)),
            *(["--model (PROVIDER:MODEL or none)"] if given.model is None else []),
        ]
        if missing:
            raise VerbFailed(f"nobody is here to be asked; add {'; '.join(missing)}", code=2)

    def _warn(self) -> None:
        """Of what others may see."""
        seen = "can be seen by other users of this machine while this runs"
        for option in ("token", "key"):
            if getattr(self._given, option):
                self._seat.note(f"--{option} {seen}; --{option}-file and --{option}-env can't")
        if any(is_exposed(told.partition("=")[2]) for told in self._given.secret or ()):
            self._seat.note(f"what stands behind --secret {seen}; OPTION=file:PATH and OPTION=env:NAME can't")

    def _key(self) -> str | None:
        given = self._given
        ways = [way for way in (given.key, given.key_file, given.key_env) if way is not None]
        if len(ways) > 1:
            raise VerbFailed("give one of --key, --key-file and --key-env", code=2)
        if ways and given.model == NONE:
            raise VerbFailed("--key is for a model; name it with --model", code=2)
        if given.key_file is not None:
            return from_file(given.key_file, "--key-file")
        if given.key_env is not None:
            return from_environ(given.key_env, "--key-env", self._plan.around.environ)
        return given.key

    # the platform

    def _platform(self, handed: Handed) -> Questions | None:
        known, wanted = known_platforms(), self._given.platform
        if wanted is None:
            names = ", ".join(known)
            self._seat.say("", "Where will people write to it?", f"  {names}, or none: then only in a terminal here.")
            wanted = self._seat.ask("Platform", next(iter(known)))
        while not self._is_platform(wanted):
            wanted = self._seat.ask("Platform", next(iter(known)))
        if wanted == NONE and (handed.any or self._given.api_base):
            raise VerbFailed("--token, --secret and --api-base are for a platform; name it with --platform", code=2)
        return known[wanted] if wanted != NONE else None

    def _is_platform(self, wanted: str) -> bool:
        """What is none is said. Raises `VerbFailed` where nobody is there."""
        known = known_platforms()
        if wanted == NONE or wanted in known:
            return True
        self._refuse(f"there is no platform {wanted}; there is: {', '.join(known)}, {NONE}", option="--platform")
        return False

    def _account(self, questions: Questions, handed: Handed) -> Account:
        asking = AccountQuestions(questions, self._given, self._seat)
        account = asking.ask(handed)
        self.introduced = asking.introduced
        return account

    # whose it is, and when it is

    def _given_owners(self, questions: Questions | None) -> Sequence[str] | None:
        """None: they are still to be asked for."""
        if self._given.owner is None:
            return None
        try:
            return owners_read(self._given.owner, questions)
        except ConfigFaults as faults:
            self._refuse(words_of(faults), option="--owner")
        return None

    def _zone(self, zone: str | None) -> str:
        offered = self._plan.around.zone or "UTC"
        if zone is None and not self._seat.asks:
            return offered
        while True:
            if zone is None:
                self._seat.say("", "In which time zone? Conversations begin anew at 04:00 there.")
                zone = self._seat.ask("Zone", offered)
            try:
                settings_of({"desk": {"timezone": zone}})
            except ConfigFaults as faults:
                self._refuse(f"{zone} {words_of(faults)}", option="--zone")
            else:
                return zone
            zone = None

    def _refuse(self, words: str, *, option: str | None = None) -> None:
        """Say it, to ask again. Raises `VerbFailed` where nobody is there; `option`: what held it."""
        if not self._seat.asks:
            told = f"{option}: {words}" if option else f"{words}. Nothing was written"
            raise VerbFailed(told, code=2 if option else 1)
        self._seat.say(sentence(words))
