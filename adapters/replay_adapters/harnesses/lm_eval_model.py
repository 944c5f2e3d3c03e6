"""An ``lm_eval.api.model.LM``: made, asked for answers, and what its failures mean to us."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from difflib import get_close_matches
from typing import Any

import aiohttp

from replay import AdapterConnectionError, AdapterError, AdapterRefusedError, AdapterTimeoutError
from replay_adapters.http.failures import refused
from replay_adapters.rendering import request_error

Question = str | list[dict[str, Any]]
"""A whole prompt, or the messages that the model's chat template makes one of."""


def check_known(model: str) -> None:
    """
    Make sure that lm-eval has *model*.

    Raises:
        ValueError: lm-eval has no *model* of that name.
    """
    from lm_eval.api.registry import model_registry
    from lm_eval.models import MODEL_MAPPING  # noqa: F401 - importing it fills the registry

    known = sorted(model_registry.keys())
    if model not in known:
        close = get_close_matches(model, known, n=1)
        meant = f'; did you mean "{close[0]}"?' if close else ""
        raise ValueError(f'lm-eval has no model "{model}"{meant} (known: {", ".join(known)})')


def made(model: str, own: Any, model_args: Mapping[str, Any]) -> Any:
    """
    Return the ``LM`` that *own* is or returns, or lm-eval's own *model* if *own* is None.

    Raises:
        TypeError: it is none. Whatever making it raises, too.
    """
    if own is None:
        with _no_progress_bars():
            from lm_eval.api.registry import get_model

            own = get_model(model)
    is_made = hasattr(own, "generate_until") and not isinstance(own, type)
    lm = own if is_made else own(**model_args)
    if not callable(getattr(lm, "generate_until", None)):
        raise TypeError(f"it gives {type(lm).__name__}, which has no generate_until")
    return lm


def answers(lm: Any, questions: Sequence[Question], gen_kwargs: Mapping[str, Any]) -> list[Any]:
    """
    Return *lm*'s answer to each of *questions*, in their order; blocks meanwhile.

    Args:
        lm: A model of lm-eval.
        questions: Prompts, or lists of chat messages.
        gen_kwargs: Settings for generation.

    Raises:
        AdapterRefusedError: *lm* has no chat template, or the template refuses the messages.
    """
    from lm_eval.api.instance import Instance

    requests = [
        # Models change the keywords while they read them, so each question has its own.
        Instance("generate_until", {}, (_prompt(lm, question), deepcopy(dict(gen_kwargs))), number)
        for number, question in enumerate(questions)
    ]
    quiet = "disable_tqdm" in inspect.signature(lm.generate_until).parameters
    return list(lm.generate_until(requests, disable_tqdm=True) if quiet else lm.generate_until(requests))


def failure(error: Exception, model: str) -> AdapterError:
    """Return the adapter error for *error*, which the *model* raised."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", getattr(error, "status", None))
    said = " ".join(f"{getattr(response, 'text', '') or error}".split())
    message = f'lm-eval\'s model "{model}" failed: {type(error).__name__}: {said:.500}'
    if isinstance(status, int):
        return refused(status, message)
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return AdapterTimeoutError(f"{message}; model_args has its timeout", retryable=True)
    if isinstance(error, aiohttp.ClientError | OSError):  # requests' errors are OSErrors
        return AdapterConnectionError(f"{message}; check base_url in model_args", retryable=True)
    return AdapterRefusedError(message)


def _prompt(lm: Any, question: Question) -> Any:
    if isinstance(question, str):
        return question
    try:
        return lm.apply_chat_template(question, add_generation_prompt=True)
    except Exception as error:  # whatever a model's template raises
        raise request_error(
            f"the model's chat template fails ({type(error).__name__}: {error}); "
            "for a model without one, give the setting prompt"
        ) from error


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """tqdm draws none if it is imported within: an endpoint's model has one for each list, asked or not."""
    before = os.environ.get("TQDM_DISABLE")
    os.environ["TQDM_DISABLE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TQDM_DISABLE"]
        else:
            os.environ["TQDM_DISABLE"] = before
