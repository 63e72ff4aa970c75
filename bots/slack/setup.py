"""What is asked to set up a bot on Slack."""

from __future__ import annotations

from typing import Final

from core.ports import Questions, SecretWanted
