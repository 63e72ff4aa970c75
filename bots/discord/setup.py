"""What is asked to set up a bot on Discord."""

from __future__ import annotations

from typing import Final

from core.ports import Questions, SecretWanted
