"""`frontdesk init` as somebody at a terminal has it: a real terminal, the doubles of Telegram and of a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.load import load
from tests.fakes.models import ThreadedModelServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.desk_to_be import WRONG_KEY, WRONG_TOKEN, Home
from tests.wire.seated import MODEL, OWNER, OWNER_UNTRIED, WRITE, ZONE, sitting

CTRL_C, CTRL_D = "\x03", "\x04"
TOKEN = "Token of the bot (not shown):"
SERVER, KEY = "Address of its server, empty for OpenAI's own:", "Its key, empty if it takes none (not shown):"


def test_a_new_owner_is_led_to_a_desk_that_works(
    home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer
) -> None:
    ada, eve = telegram.user("Ada"), telegram.user("Eve")
    with sitting(home, "--api-base", telegram.url) as asked:
        asked.answer("Platform [telegram]:")
        asked.answer(TOKEN, telegram.token)
        asked.until("this is @frontdesk_test_bot")
        asked.answer(MODEL, "openai:gpt-test")
        asked.answer(SERVER, model.openai_url)
        asked.answer(KEY, model.key)
        asked.until("It answers.")
        asked.until(OWNER)
        telegram.say(telegram.private(ada), ada, "it is me")
        telegram.say(telegram.private(eve), eve, "no, me")
        asked.type("\r")
        asked.until("Eve (telegram:")
        asked.answer("Is that you? [y/N]:", "n")
        asked.until("it is me")
        asked.answer("Is that you? [y/N]:", "y")
        asked.answer(ZONE)
        asked.until("file:secrets/telegram_token")
        asked.answer(WRITE)
        asked.until("frontdesk run")
        asked.leave(0)
    loaded = load(config=home.config, state=home.state, environ={})
    assert [str(owner) for owner in loaded.settings.access.owners] == [f"telegram:{ada.id}"]
    assert {telegram.token, model.key} <= loaded.settings.secrets
    assert telegram.token not in asked.written
    assert model.key not in asked.written
    assert len(telegram.unconfirmed) == 2  # what was written waits for the desk


def test_what_turns_out_wrong_is_asked_again_and_not_kept(
    home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer
) -> None:
    with sitting(home, "--api-base", telegram.url) as asked:
        asked.answer("Platform [telegram]:", "telegrm")
        asked.until("There is no platform telegrm")
        asked.answer("Platform [telegram]:")
        asked.answer(TOKEN, "not a token!")
        asked.until("is no bot token")
        asked.answer(TOKEN, WRONG_TOKEN)
        asked.until("Telegram refuses")
        asked.answer(TOKEN, telegram.token)
        asked.answer(MODEL, "gpt-wrong")
        asked.until("no model with its provider")  # and not its key first
        asked.answer(MODEL, "openai:gpt-wrong")
        asked.answer(SERVER, model.openai_url)
        asked.answer(KEY, model.key)
        asked.until("there is no such model")
        asked.answer(MODEL, "openai:gpt-test")
        asked.answer(SERVER, model.openai_url)
        asked.answer(KEY, WRONG_KEY)
        asked.until("the provider refuses the key")
        asked.answer(KEY, model.key)
        asked.until("It answers.")
        asked.answer(OWNER, "@ada")
        asked.until("the numeric id is wanted")
        asked.answer(OWNER)
        asked.until("Nobody has written to it yet.")
        asked.answer(OWNER, "later")
        asked.answer(ZONE, "Europe/Berln")
        asked.until('Europe/Berln is no time zone; did you mean "Europe/Berlin"?')
        asked.answer(ZONE, "Europe/Vienna")
        asked.answer(WRITE)
        asked.until("people approve CODE")
        asked.leave(0)
    kept = "".join(home.files.values())
    assert not [one for one in (WRONG_TOKEN, WRONG_KEY, "not a token", "gpt-wrong", "Berln") if one in kept]
    assert not [one for one in (telegram.token, WRONG_TOKEN, model.key, WRONG_KEY) if one in asked.written]


def test_without_a_network_it_may_be_kept_untried(home: Home, telegram: ThreadedTelegramServer) -> None:
    telegram.pause()
    with sitting(home, "--platform", "telegram", "--api-base", telegram.url, "--model", "none") as asked:
        asked.answer(TOKEN, telegram.token)
        asked.until("Telegram can't be reached")
        asked.answer("Try again? (No keeps it untried) [Y/n]:")
        asked.until("Telegram can't be reached")
        asked.answer("Try again? (No keeps it untried) [Y/n]:", "n")
        asked.answer(OWNER_UNTRIED)
        asked.answer(ZONE)
        asked.answer(WRITE)
        asked.leave(0)
    telegram.resume()
    assert (home.secrets / "telegram_token").read_text().strip() == telegram.token


@pytest.mark.parametrize("keys", [CTRL_C, CTRL_D])
@pytest.mark.parametrize("question", ["Platform [telegram]:", TOKEN, MODEL, OWNER, ZONE, WRITE])
def test_whoever_leaves_midway_leaves_nothing(
    home: Home, telegram: ThreadedTelegramServer, question: str, keys: str
) -> None:
    answers = {"Platform [telegram]:": "", TOKEN: telegram.token, MODEL: "none", OWNER: "later", ZONE: ""}
    with sitting(home, "--api-base", telegram.url) as asked:
        for earlier, text in answers.items():
            if earlier == question:
                break
            asked.answer(earlier, text)
        asked.until(question)
        asked.end(keys, 1)
    assert "nothing was written" in asked.written
    assert "Traceback" not in asked.written
    assert home.files == {}
    assert not home.config.parent.exists()


def test_a_test_that_takes_long_can_be_left(home: Home, telegram: ThreadedTelegramServer) -> None:
    hanging = telegram.hang("getMe")
    with sitting(home, "--api-base", telegram.url, "--platform", "telegram") as asked:
        asked.answer(TOKEN, telegram.token)
        telegram.until(lambda: hanging.hits == 1)
        asked.end(CTRL_C, 1)
    assert "stopped; nothing was written" in asked.written
    assert "Traceback" not in asked.written
    assert home.files == {}


def test_nothing_is_asked_with_yes(home: Home) -> None:
    with sitting(home, "--yes", "--platform", "none") as asked:
        asked.leave(2)
    assert "--model" in asked.written
    with sitting(home, "--yes", "--platform", "none", "--model", "none") as asked:
        asked.leave(0)
    assert home.config.exists()


def test_who_does_not_want_it_written_gets_nothing(home: Home) -> None:
    with sitting(home, "--platform", "none", "--model", "none") as asked:
        asked.answer(ZONE)
        asked.answer(WRITE, "n")
        asked.leave(1)
    assert home.files == {}


def test_a_config_that_sets_something_ends_it_before_the_first_question(home: Home) -> None:
    home.config.parent.mkdir(parents=True)
    home.config.write_text('[desk]\nname = "Ours"\n')
    with sitting(home) as asked:
        asked.leave(1)
    assert "--force" in asked.written
    assert "Platform" not in asked.written


def test_a_key_of_the_environment_is_offered(
    tmp_path: Path, telegram: ThreadedTelegramServer, model: ThreadedModelServer
) -> None:
    home = Home(tmp_path, {"OPENAI_API_KEY": model.key})
    with sitting(home, "--platform", "none", "--no-test") as asked:
        asked.answer("Model [openai:gpt-6.1-terra]:")
        asked.answer(SERVER)
        asked.answer("Its key, empty for the one in OPENAI_API_KEY (not shown):")
        asked.answer(ZONE)
        asked.answer(WRITE)
        asked.leave(0)
    assert (home.secrets / "model_key").read_text().strip() == model.key
