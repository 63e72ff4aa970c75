"""What pydantic-ai raises, as errors of ours. Nobody else decides on a model's error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pydantic_ai import exceptions as ai

from core import errors
from core.agents.provider_words import sentence
from core.errors import AgentError

_KINDS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], Callable[[str], AgentError]], ...] = (
    (ai.ModelContextWindowExceededError, errors.ContextFull),
    (ai.ModelQuotaExceededError, errors.ModelQuota),
    (ai.ModelAuthenticationError, errors.ModelKeyRefused),
    (ai.ModelNotFoundError, errors.ModelMissing),
    ((ai.ModelTimeoutError, ai.ModelRequestTimeout, TimeoutError), errors.ModelSilent),
    (ai.ModelConnectionError, errors.ModelUnreachable),
    ((ai.ModelUnavailableError, ai.ModelServerError), errors.ModelOverloaded),
    (ai.ModelRequestRejectedError, errors.ModelRejected),
    (ai.ContentFilterError, errors.ContentFiltered),
    (ai.UsageLimitExceeded, errors.TurnLimit),
    (ai.UnexpectedModelBehavior, errors.ModelUseless),
)
"""Narrower kinds first."""

_CODE = re.compile(r"[A-Za-z0-9_.]{1,60}")
"""What a provider may call its error by in our log; no key looks like that."""


class Wordless(Exception):
    """A fault without its words but for a sentence: a provider's own text may hold a key or a path. Where it happened
    stays, and what led to it."""


def wordless(fault: BaseException) -> Wordless:
    """What stands in the log for a fault that a provider had its say in."""
    told = Wordless(_words(fault)).with_traceback(fault.__traceback__)
    before = fault.__cause__ or (None if fault.__suppress_context__ else fault.__context__)
    told.__cause__ = None if before is None else wordless(before)
    return told


def translate(error: Exception, secrets: Iterable[str] = ()) -> AgentError:
    """The error of ours that says the same. Of a provider's own text, which may hold a key or a path, its words show
    one sentence, see `provider_words`; `secrets` are the keys that the provider knows."""
    if isinstance(error, AgentError):
        return error
    return _ours(error, _words(error, tuple(secrets)))


def _ours(error: Exception, words: str) -> AgentError:
    if isinstance(error, ai.FallbackExceptionGroup):
        return _ours(error.exceptions[-1], words)
    if isinstance(error, ai.ModelAPIError) and error.provider_error_code == "content_filter":
        return errors.ContentFiltered(words)
    if isinstance(error, ai.ModelRateLimitError):
        return errors.ModelBusy(words, error.retry_after)
    for kind, ours in _KINDS:
        if isinstance(error, kind):
            return ours(words)
    return AgentError(words)


def _words(error: BaseException, secrets: tuple[str, ...] = ()) -> str:
    if isinstance(error, ai.FallbackExceptionGroup):
        return "; ".join(_words(one, secrets) for one in error.exceptions)
    said = [type(error).__name__]
    if isinstance(error, ai.ModelAPIError):
        said.append(f"model {error.model_name}")
    if isinstance(error, ai.ModelHTTPError):
        said.append(f"status {error.status_code}")
    code = error.provider_error_code if isinstance(error, ai.ModelAPIError) else None
    if code and _CODE.fullmatch(code):
        said.append(f"code {code}")
    if isinstance(error, ai.UsageLimitExceeded | ai.UserError):
        said.append(str(error)[:300])
    own = sentence(error.body, secrets) if isinstance(error, ai.ModelAPIError) else ""
    return ", ".join(said) + (f": “{own}”" if own else "")
