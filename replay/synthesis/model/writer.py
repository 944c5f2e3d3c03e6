"""A model that is asked for JSON, and asked again with the reason where its reply can't be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.core.asking.cached import CachingClient, Model, Question, question_key, read_reply
from replay.core.asking.costs import AskTally
from replay.core.asking.prompt import Prompt, first_object, json_problem
from replay.core.asking.retries import RetryPolicy
from replay.core.disk_cache import DiskCache

PATIENCE = RetryPolicy(timeout_s=120.0, attempts=3, retry_budget_s=120.0)
_SHOWN = 200
"""Characters of a reply that can't be used, as the model is shown them."""


class NothingUsableError(ValueError):
    """A model gave nothing usable, however often it was asked; its message is the last reason."""


class NotCachedError(Exception):
    """A reply would have to be asked for, where nothing may be."""


@dataclass(slots=True, kw_only=True)
class JsonWriter:
    """Asks *model*; every reply is kept in *cache*, so that whoever goes on later pays for none twice."""

    model: Model
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0})
    attempts: int = 3
    """How often one thing is asked for at most, before it is given up."""
    cache: Path | None = None
    asks_nothing: bool = False
    """Only the cache is read: what isn't there raises ``NotCachedError``."""
    patience: RetryPolicy = PATIENCE
    tally: AskTally = field(default_factory=AskTally)
    _client: CachingClient = field(init=False)

    def __post_init__(self) -> None:
        self._client = CachingClient("writer", self.patience, DiskCache(self.cache), self.tally)

    async def write(
        self,
        step: str,
        prompt: Prompt,
        variables: Mapping[str, Any],
        keys: Sequence[str],
        fault: Callable[[dict[str, Any]], str | None],
        *,
        depth: int,
        seed: int,
        rejected: Sequence[Mapping[str, str]] = (),
    ) -> dict[str, Any]:
        """
        Return the JSON object that the model writes.

        Args:
            step: What is asked for: the id of the conversation that the adapter sees.
            prompt: Its template; gets *variables* and ``rejected``, what won't do and why.
            variables: Beside that.
            keys: What the object must have, texts or numbers.
            fault: Says what is wrong with an object that has them; None if nothing is.
            depth: Of the turn, 1 for the first.
            seed: Tells equal prompts of several data sets apart.
            rejected: What won't do either, from before.

        Raises:
            NothingUsableError: nothing usable came.
            AdapterError: no reply came.
            RunStoppedError: the endpoint refuses our key and has answered nothing yet.
            NotCachedError: nothing may be asked, and it isn't in the cache.
        """
        wrong = [*rejected]
        for attempt in range(1, self.attempts + 1):
            text = await self._reply(
                step, prompt.render({**variables, "rejected": wrong}), depth, f"{seed}.{attempt}"
            )
            found = first_object(text, keys)
            if found is None:
                reason = json_problem(text)
            elif missing := [key for key in keys if not isinstance(found.get(key), str)]:
                reason = f'the object has no text "{missing[0]}"'
            else:
                reason = fault(found) or ""
                if not reason:
                    return found
            wrong.append({"text": " ".join(text.split())[:_SHOWN], "reason": reason})
        raise NothingUsableError(wrong[-1]["reason"])

    async def _reply(self, step: str, prompt: str, depth: int, sample: str) -> str:
        parameters = self.model.sent_parameters(self.parameters)
        if self.asks_nothing:
            kept = read_reply(DiskCache(self.cache), question_key(self.model, prompt, parameters, sample))
            if kept is None:
                raise NotCachedError
            self.tally.cached += 1
            return kept.text
        question = Question(
            model=self.model, step=step, prompt=prompt, parameters=parameters, depth=depth, sample=sample
        )
        reply, _ = await self._client.reply(question, once=True)
        return reply.text
