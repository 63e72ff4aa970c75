"""The questions of `init`, in order. What an option answers is not asked, unless it turns out to be wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from config.draft import settings_of
from config.faults import ConfigFaults
from core.cli.platforms import known_platforms
from core.cli.setup.choices import NONE, Account, Choices
from core.cli.setup.model import ModelQuestions
from core.cli.setup.owners import owners_asked, owners_read
from core.cli.setup.trying import introduce, sentence
from core.errors import BotRejected, VerbFailed
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
        self._check_options()
        tokens, key = self._tokens(), self._key()
        zone = self._zone(self._given.zone) if self._given.zone is not None or not self._seat.asks else None
        questions = self._platform(tokens)
        owners = self._given_owners(questions)
        account = self._account(questions, tokens) if questions else None
        model = ModelQuestions(self._given, self._plan.around.environ, self._seat).ask(key)
        if owners is None and account is not None and self._seat.asks:
            owners = owners_asked(account, self.introduced, self._plan.state, self._seat)
        return Choices(account=account, model=model, owners=owners or (), zone=zone or self._zone(None))

    # what stands in options

    def _check_options(self) -> None:
        given = self._given
        for option in ("token", "key"):
            if getattr(given, option):
                words = f"--{option} can be seen by other users of this machine while this runs"
                self._seat.note(f"{words}; --{option}-file and --{option}-env can't")
        if self._seat.asks:
            return
        if given.platform is not None:
            self._is_platform(given.platform)
        if given.model not in (None, NONE):
            ModelQuestions(given, self._plan.around.environ, self._seat).is_sound(given.model, given.base_url)
        tokens = any((given.token, given.token_file, given.token_env))
        missing = [
            *([f"--platform ({', '.join(known_platforms())} or none)"] if given.platform is None else []),
            *([] if given.platform == NONE or tokens else ["--token-file, --token-env or --token"]),
            *(["--model (PROVIDER:MODEL or none)"] if given.model is None else []),
        ]
        if missing:
            raise VerbFailed(f"nobody is here to be asked; add {'; '.join(missing)}", code=2)

    def _tokens(self) -> Sequence[str]:
        given = self._given
        files = [self._from_file(name, "--token-file") for name in given.token_file or ()]
        variables = [self._from_environ(name, "--token-env") for name in given.token_env or ()]
        return [*(given.token or ()), *files, *variables]

    def _key(self) -> str | None:
        given = self._given
        ways = [way for way in (given.key, given.key_file, given.key_env) if way is not None]
        if len(ways) > 1:
            raise VerbFailed("give one of --key, --key-file and --key-env", code=2)
        if ways and given.model == NONE:
            raise VerbFailed("--key is for a model; name it with --model", code=2)
        if given.key_file is not None:
            return self._from_file(given.key_file, "--key-file")
        return given.key if given.key_env is None else self._from_environ(given.key_env, "--key-env")

    def _from_file(self, name: str, option: str) -> str:
        try:
            value = Path(name).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise VerbFailed(f"{option}: {name} can't be read ({error.strerror}); name another", code=2) from error
        except UnicodeDecodeError as error:
            raise VerbFailed(f"{option}: {name} is no text; name another", code=2) from error
        if not value:
            raise VerbFailed(f"{option}: {name} is empty; write the secret into it", code=2)
        return value

    def _from_environ(self, name: str, option: str) -> str:
        value = self._plan.around.environ.get(name, "").strip()
        if not value:
            raise VerbFailed(f"{option}: the environment variable {name} is not set; set it", code=2)
        return value

    # the platform

    def _platform(self, tokens: Sequence[str]) -> Questions | None:
        known, wanted = known_platforms(), self._given.platform
        if wanted is None:
            names = ", ".join(known)
            self._seat.say("", "Where will people write to it?", f"  {names}, or none: then only in a terminal here.")
            wanted = self._seat.ask("Platform", next(iter(known)))
        while not self._is_platform(wanted):
            wanted = self._seat.ask("Platform", next(iter(known)))
        if wanted == NONE and (tokens or self._given.api_base):
            raise VerbFailed("--token and --api-base are for a platform; name it with --platform", code=2)
        return known[wanted] if wanted != NONE else None

    def _is_platform(self, wanted: str) -> bool:
        """What is none is said. Raises `VerbFailed` where nobody is there."""
        known = known_platforms()
        if wanted == NONE or wanted in known:
            return True
        self._refuse(f"there is no platform {wanted}; there is: {', '.join(known)}, {NONE}", option="--platform")
        return False

    def _account(self, questions: Questions, tokens: Sequence[str]) -> Account:
        secrets = self._secrets(questions, tokens) if tokens else None
        while True:
            secrets = self._asked_secrets(questions) if secrets is None else secrets
            account = Account(questions=questions, secrets=secrets, api_base=self._given.api_base)
            try:
                self._introduce(account)
            except ConfigFaults as faults:
                self._refuse_option(faults, account)
            except BotRejected as refusal:
                self._refuse(str(refusal))
            else:
                return account
            secrets = None

    def _introduce(self, account: Account) -> None:
        """Raises `ConfigFaults` and `BotRejected`."""
        settings = settings_of({"bots": {account.name: account.drafted()}})
        if not self._given.test:
            return
        self.introduced = introduce(account.name, settings.bots[account.name], self._seat)
        if self.introduced:
            self._seat.say(f"The token is good: this is {self.introduced}.")

    def _refuse_option(self, faults: ConfigFaults, account: Account) -> None:
        about_base = account.api_base is not None and any(one.option.endswith("api_base") for one in faults.faults)
        if about_base:
            raise VerbFailed(f"--api-base: {words_of(faults)}", code=2)
        self._refuse(f"this {words_of(faults)}", option="--token")

    def _secrets(self, questions: Questions, tokens: Sequence[str]) -> Mapping[str, str]:
        wanted = [secret.option for secret in questions.secrets]
        if len(tokens) != len(wanted):
            told = f"{questions.title} takes {len(wanted)} of --token, --token-file and --token-env"
            raise VerbFailed(f"{told} ({', '.join(wanted)}), and there are {len(tokens)}", code=2)
        return dict(zip(wanted, tokens, strict=True))

    def _asked_secrets(self, questions: Questions) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for secret in questions.secrets:
            self._seat.say("", secret.source)
            while not found.get(secret.option):
                found[secret.option] = self._seat.ask_secret(secret.title)
        return found

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


def words_of(faults: ConfigFaults) -> str:
    """What is wrong and what to write, without the place in a file that is not there yet."""
    return "; ".join("; ".join(filter(None, (one.message, one.hint))) for one in faults.faults)
