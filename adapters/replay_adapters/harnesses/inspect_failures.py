"""What an exception of a provider's library, or of an agent, means to us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replay import (
    AdapterConnectionError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterTimeoutError,
)

if TYPE_CHECKING:
    from inspect_ai.model import Model


def failure(error: Exception, who: str, model: Model | None) -> AdapterError:
    """
    Return the adapter error for *error*, which a provider or an agent raised.

    Args:
        error: The exception.
        who: The name of the model or agent.
        model: The model, which knows what errors to retry; None for an agent.
    """
    first = next((one for one in _causes(error) if type(one).__name__ != "RetryError"), error)
    told = f'"{who}" raised {one_line(first)}'
    status = next((one.status_code for one in _causes(error) if _has_status(one)), None)
    if status == 429:
        return AdapterRateLimitedError(f"{told}; ask less often", retryable=True, reached=False, status=429)
    if status in (401, 403):
        return AdapterRefusedError(f"{told}; check the key that its provider reads", status=status)
    if status is not None:
        return AdapterRefusedError(told, retryable=status in (408, 409) or status >= 500, status=status)
    # By their names: each provider's library has timeouts and broken connections of its own.
    names = [name.__name__ for one in _causes(error) for name in type(one).__mro__]
    if any("Timeout" in name for name in names):
        return AdapterTimeoutError(told, retryable=True)
    if any("Connect" in name for name in names) or (model is not None and model.should_retry(error)):
        return AdapterConnectionError(told, retryable=True)
    return AdapterRefusedError(told)


def _causes(error: BaseException) -> list[Any]:
    found: list[Any] = []
    now: BaseException | None = error
    while now is not None and now not in found:
        found.append(now)
        now = now.__cause__ or now.__context__
    return found


def _has_status(error: Any) -> bool:
    return isinstance(getattr(error, "status_code", None), int)


def one_line(error: BaseException) -> str:
    """Return *error* on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
