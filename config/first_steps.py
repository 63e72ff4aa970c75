"""What a new user is told where nothing is configured yet."""

from __future__ import annotations

from typing import Final

HOW_TO_ADD: Final = """\
No bot is configured: this is the terminal.
To add Telegram: get a token from https://t.me/BotFather, set TELEGRAM_BOT_TOKEN to it and start again; frontdesk init
asks for it, or for what Discord or Slack need.
"""
HOW_TO_ADD_A_MODEL: Final = """\
No model is configured: the offline agent answers.
To add one: set OPENAI_API_KEY or ANTHROPIC_API_KEY and start again, or write [agents.default] in a config file;
config/frontdesk.example.toml shows every option.
"""
