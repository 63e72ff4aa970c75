"""What every table of the config file is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """One table of the config file: frozen, strict, no unknown options, and no values in its errors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        hide_input_in_errors=True,
        validate_default=True,
        defer_build=True,
    )
