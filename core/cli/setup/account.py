"""The questions of `init` about the account on a platform: its secrets, and whether all is well with it there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from config.draft import settings_of
from config.faults import ConfigFaults
from core.cli.manifest import USUAL_NAME
from core.cli.platforms import paper_of
from core.cli.setup.choices import Account
from core.cli.setup.trying import UNTRIED, introduce, look, sentence, words_of
from core.errors import BotRejected, VerbFailed
from core.ports import Finding, Questions

if TYPE_CHECKING:
    from config.bots import BotSettings
    from core.cli.setup.given import Given
    from core.cli.setup.handed import Handed
    from core.cli.setup.seat import Seat


class AccountQuestions:
    """Asks for what no option handed over, and again for what turns out to be wrong."""

    def __init__(self, questions: Questions, given: Given, seat: Seat) -> None:
        self._questions = questions
        self._given = given
        self._seat = seat
        self.introduced: str | None = None
        """What the bot is called on its platform, once it said so."""

    def ask(self, handed: Handed) -> Account:
        """Raises `VerbFailed`."""
        secrets = handed.of(self._questions)
        if len(secrets) < len(self._questions.secrets):
            self._explain_paper()
        while True:
            self._fill(secrets)
            in_order = {one.option: secrets[one.option] for one in self._questions.secrets}
            account = Account(questions=self._questions, secrets=in_order, api_base=self._given.api_base)
            wrong = self._wrong_in(account)
            if not wrong:
                return account
            for option in wrong:
                del secrets[option]

    def _explain_paper(self) -> None:
        asked = self._questions
        text = paper_of(asked, USUAL_NAME)
        if text is None:
            return
        self._seat.say(
            "", f"{asked.title} sets the account up from a text that you paste: {asked.paste_at}.",
            f"  `frontdesk manifest {asked.platform}` prints it.",
        )  # fmt: skip
        if self._seat.confirm("Print it here?", default=True):
            self._seat.say("", text)

    def _fill(self, secrets: dict[str, str]) -> None:
        for secret in self._questions.secrets:
            if not secrets.get(secret.option):
                self._seat.say("", secret.source)
            while not secrets.get(secret.option):
                secrets[secret.option] = self._seat.ask_secret(secret.title)

    # is all well with it?

    def _wrong_in(self, account: Account) -> Collection[str]:
        """The secrets that are to be asked for anew. Raises `VerbFailed` where nobody is there."""
        try:
            settings = settings_of({"bots": {account.name: account.drafted()}}).bots[account.name]
        except ConfigFaults as faults:
            return self._refused(faults, account)
        if not self._given.test:
            return ()
        try:
            self.introduced = introduce(account.name, settings, self._seat)
        except BotRejected as refusal:
            return self._rejected(account, settings, str(refusal))
        if self.introduced is None:
            return ()
        self._seat.say(f"Good: this is {self.introduced}.")
        return self._looked_at(account, settings)

    def _refused(self, faults: ConfigFaults, account: Account) -> Collection[str]:
        """By the config itself."""
        by_option = {one.option.rpartition(" ")[2]: one for one in faults.faults}
        if account.api_base is not None and "api_base" in by_option:
            raise VerbFailed(f"--api-base: {words_of(faults)}", code=2)
        told = {option: f"this {words_of(ConfigFaults([one]))}" for option, one in by_option.items()}
        if not self._seat.asks:
            raise VerbFailed("; ".join(f"{self._flag(option)}: {words}" for option, words in told.items()), code=2)
        titles = {secret.option: secret.title for secret in self._questions.secrets}
        for option, words in told.items():
            several = len(account.secrets) > 1
            self._seat.say(sentence(f"{titles.get(option, option)}: {words}" if several else words))
        return [option for option in account.secrets if option in told] or [*account.secrets]

    def _flag(self, option: str) -> str:
        return f"--secret {option}" if len(self._questions.secrets) > 1 else "--token"

    def _rejected(self, account: Account, settings: BotSettings, words: str) -> Collection[str]:
        """By the platform, which may have more to say about which."""
        if not self._seat.asks:
            raise VerbFailed(f"{words}. Nothing was written")
        self._seat.say(sentence(words))
        several = len(account.secrets) > 1
        return self._blamed(look(account.name, settings) if several else (), account) or [*account.secrets]

    def _looked_at(self, account: Account, settings: BotSettings) -> Collection[str]:
        """What keeps it from working besides, until it is mended or to be kept so."""
        while True:
            found = [one for one in look(account.name, settings) if one.state != "ok"]
            faults = [one for one in found if one.state == "fault"]
            if faults and not self._seat.asks:
                raise VerbFailed(f"{'; '.join(map(_told, faults))}; {UNTRIED}")
            self._seat.say(*(sentence(_told(one)) for one in found))
            if blamed := self._blamed(faults, account):
                return blamed
            if not faults or not self._seat.confirm("Look again? (No keeps it so)", default=True):
                return ()

    def _blamed(self, findings: Sequence[Finding], account: Account) -> Collection[str]:
        """The secrets that are at fault."""
        faults = {one.what for one in findings if one.state == "fault" and one.blames == "config"}
        return [option for option in account.secrets if f"[bots.{account.name}] {option}" in faults]


def _told(finding: Finding) -> str:
    return f"{finding.what}: {finding.detail}" + (f"; {finding.do}" if finding.do else "")
