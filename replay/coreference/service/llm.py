"""
A model as resolver: asked what a question leans on, in the recorded and in the own history at once.

Unlike the other resolvers it is asked on the event loop, while a turn is planned and before its timed ask is
due, and it gives the verdict itself. It is shown as much of the histories as fits a budget: whole exchanges,
the newest ones. What it replies is checked (``llm_reply``); a reply that can't be used is shown to it once,
with what is wrong. Replies are kept on disk.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

from replay.core.asking.cached import CachingClient, Model, Question, build_model
from replay.core.asking.costs import NO_PRICES, AskTally, Prices, PriceTable
from replay.core.asking.prompt import Prompt, PromptError, short_hash
from replay.core.asking.retries import RetryPolicy, open_endpoints
from replay.core.disk_cache import DiskCache, cache_path
from replay.core.drift_evidence import Drift, Reading
from replay.core.errors import AdapterError, ReadingError
from replay.core.history import Exchange
from replay.core.settings.choice import LimitSection
from replay.core.settings.plugins import build, load
from replay.coreference.reading.resolver import LEFT_OUT, Document, shorten
from replay.coreference.service.llm_reply import MODE, VERSION, UnusableReplyError, drift_in, readings_in
from replay.coreference.service.worker import ResolverChoice

T = TypeVar("T")

PATIENCE = RetryPolicy(timeout_s=60.0, attempts=3, retry_budget_s=60.0)
FILE = "readings.db"
HISTORY_CHARACTERS = 12_000
LEAST_CHARACTERS = 200
COMPLETION_TOKENS = 60
"""About as long is a reply, for an estimate: 150 characters of JSON, whose tokens are short."""
VARIABLES = ("question", "title", "section", "background", "recorded", "own", "compares")

_FOLDER = Path(__file__).resolve().parent / "prompts"
_RETRY = Prompt(_FOLDER / "retry.txt", ("prompt", "reply", "error"))


@dataclass(slots=True, kw_only=True)
class LlmResolver:
    """Asks a chat system what questions lean on; an async context manager, open while it is asked."""

    languages: ClassVar[None] = None
    """It reads any."""
    model: Model
    prompt: Prompt
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0})
    patience: RetryPolicy = PATIENCE
    history_characters: int = HISTORY_CHARACTERS
    """Of each history, and of the background, that it is shown."""
    cache: Path | None = None
    """Where replies are kept; None where they are not."""
    tally: AskTally = field(default_factory=AskTally)
    """What it took so far."""
    _kept: DiskCache = field(init=False)
    _asker: CachingClient = field(init=False)
    _stack: AsyncExitStack = field(init=False, default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self._kept = DiskCache(self.cache)
        self._asker = CachingClient("resolver", self.patience, self._kept, self.tally)

    @property
    def signature(self) -> str:
        """Model, prompt, parameters and budget: everything that can change a reading."""
        parameters = json.dumps(dict(self.model.sent_parameters(self.parameters)), sort_keys=True)
        asked = f"prompt:{self.prompt.hash},parameters:{short_hash(parameters)}"
        return f"llm({self.model.signature},{asked},history:{self.history_characters})"

    @property
    def rule(self) -> str:
        """Return the rule that makes verdicts of the model's replies, for the detector's signature."""
        return f"{MODE}-{VERSION}"

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(open_endpoints([self.model]))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()
        self.tally.problems += [self._kept.problem] if self._kept.problem else []

    async def read(self, document: Document) -> tuple[Reading, ...]:
        """
        Return the readings of the question of *document*; without any context, none, and nothing is asked.

        Raises:
            ReadingError: no reply came, or none that can be used.
            RunStoppedError: the endpoint refuses our key and has answered nothing yet.
        """
        (shown,) = fit_histories([document], self.history_characters)
        if not needs_asking(shown):
            return ()
        return await self._ask_and_read(shown, None, partial(readings_in, document=shown))

    async def compare(self, gold: Document, predicted: Document) -> Drift:
        """
        Return the verdict on the question that stands in both documents.

        Where what fits of them is equal, it is valid without an ask.

        Raises:
            ReadingError, RunStoppedError: as for ``read``.
        """
        shown, own = fit_histories([gold, predicted], self.history_characters)
        if not needs_asking(shown, own):
            return Drift(valid=True, mentions=(), mode=MODE)
        return await self._ask_and_read(shown, own, partial(drift_in, gold=shown, predicted=own))

    def question(self, gold: Document, predicted: Document | None = None) -> Question:
        """
        Return the request to the model on the question of *gold*, alone or compared with *predicted*.

        The documents have to fit the limit on the histories' characters.

        Raises:
            PromptError: the prompt can't be filled in.
        """
        return Question(
            model=self.model,
            step="readings" if predicted is None else "drift",
            prompt=self.prompt.render(prompt_variables(gold, predicted)),
            parameters=self.model.sent_parameters(self.parameters),
            depth=len(gold.turns) + 1,
            sample="first",
        )

    async def _ask_and_read(self, gold: Document, predicted: Document | None, read: Callable[..., T]) -> T:
        """Return what *read* makes of the first reply, or of a second one, whose wording may be unfit."""
        self.tally.verdicts += 1
        try:
            first = self.question(gold, predicted)
            # The recorded side alone depends on the data, so that systems and policies share it.
            once = predicted is None
            reply, _ = await self._asker.reply(first, once=once)
            try:
                return read(reply.text)
            except UnusableReplyError as error:
                said = {"prompt": first.prompt, "reply": reply.text, "error": str(error)}
            again = replace(first, prompt=_RETRY.render(said), sample="again")
            reply, _ = await self._asker.reply(again, once=once)
            return read(reply.text, needs_wording=False)
        except AdapterError as error:
            self.tally.unscored += 1
            raise ReadingError(f"the model gave no reply ({error.outcome}): {error}") from error
        except UnusableReplyError as error:
            self.tally.unscored += 1
            self.tally.gave_up(f"a reply that can't be used: {error}")
            raise ReadingError(f"the model gave no usable reading: {error}") from error
        except PromptError as error:
            self.tally.unscored += 1
            raise ReadingError(f"the model's prompt can't be filled in: {error}") from error


def llm_resolver(
    *,
    adapter: str,
    folder: Path,
    price_table: PriceTable = NO_PRICES,
    settings: dict[str, Any] | None = None,
    prompt: Path | None = None,
    parameters: dict[str, Any] | None = None,
    timeout_s: float = PATIENCE.timeout_s,
    attempts: int = PATIENCE.attempts,
    history_characters: int = HISTORY_CHARACTERS,
    limit: LimitSection | None = None,
    prices: Prices | None = None,
    cache: bool | Path = True,
) -> LlmResolver:
    """
    Return a resolver from a scenario's settings.

    Args:
        adapter: The adapter of the model, as for a system.
        folder: The folder that relative paths start from.
        price_table: Where prices are looked up by model.
        settings: The adapter's settings.
        prompt: A file with a prompt of your own, from the scenario's folder.
        parameters: Sent with every ask if the adapter can; by default ``{temperature: 0}``.
            ``response_format: {type: json_object}`` helps models that chat.
        timeout_s: The time limit for an attempt, above 0, in seconds.
        attempts: Attempts at most, after failures that may pass, at least 1.
        history_characters: How much of each history it is shown, at least 200.
        limit: The rate limit; none by default.
        prices: What the model charges; by the scenario's table when left out.
        cache: A file of its own for the replies, or false for none.

    Raises:
        ScenarioError: the adapter can't be used.
        ValueError: a number is out of its range, or the prompt can't be used.
    """
    if timeout_s <= 0 or attempts < 1:
        raise ValueError("timeout_s must be above 0, attempts at least 1")
    if history_characters < LEAST_CHARACTERS:
        raise ValueError(f"history_characters: {history_characters} is less than {LEAST_CHARACTERS}")
    given = settings or {}
    kept = cache_path(FILE) if cache else None
    return LlmResolver(
        model=build_model(
            adapter,
            given,
            folder=folder,
            limit=limit,
            prices=prices or price_table.prices_of(given.get("model")),
        ),
        prompt=Prompt(prompt or _FOLDER / "readings.txt", VARIABLES, needs=("own",)),
        parameters={"temperature": 0} if parameters is None else parameters,
        patience=replace(PATIENCE, timeout_s=timeout_s, attempts=attempts),
        history_characters=history_characters,
        cache=cache if isinstance(cache, Path) else kept,
    )


def asked_resolver(choice: ResolverChoice) -> LlmResolver | None:
    """
    Return the resolver of *choice* if it asks a model; None if it is one for worker processes.

    Raises:
        PluginError, ScenarioError: as for ``ResolverChoice.build``.
    """
    factory = load("resolvers", choice.name, choice.folder)
    if factory is not llm_resolver:
        return None
    made: LlmResolver = build(
        factory,
        choice.settings,
        provided={"price_table": choice.prices},
        folder=choice.folder,
        key_path="drift.settings",
    )
    return made


def needs_asking(gold: Document, predicted: Document | None = None) -> bool:
    """Return whether the model has to be asked: there is a context, or the two documents differ."""
    if predicted is not None:
        return gold != predicted
    return bool(gold.turns or gold.title or gold.section or gold.background)


def prompt_variables(gold: Document, predicted: Document | None) -> dict[str, Any]:
    """
    Return the variables that a prompt may use.

    ``question``, ``title``, ``section``, ``background``, ``recorded`` (the exchanges before the question,
    with ``question`` and ``answer``), ``own`` (the same of the system's own history, or None if only the
    recorded one is read) and ``compares`` (whether there are two).
    """
    return {
        "question": gold.question,
        "title": gold.title,
        "section": gold.section,
        "background": gold.background,
        "recorded": [{"question": e.question, "answer": e.answer} for e in gold.turns],
        "own": predicted and [{"question": e.question, "answer": e.answer} for e in predicted.turns],
        "compares": predicted is not None,
    }


def fit_histories(documents: Sequence[Document], characters: int) -> list[Document]:
    """
    Return *documents* with as many exchanges before their question as fit in *characters*.

    A background, question or answer longer than half of that is shortened in its middle, so that one exchange
    always fits. Where a history doesn't fit, the others are cut to as many exchanges, so that they stay
    comparable.

    Args:
        documents: The same question after one or more histories.
        characters: For each history, and for the background.

    Returns:
        The documents in their order; the same ones where everything fits.
    """
    shown = [_shorten_document(document, characters // 2 - len(LEFT_OUT)) for document in documents]
    fitting = [(_newest_that_fit(document.turns, characters), len(document.turns)) for document in shown]
    most = min((number for number, given in fitting if number < given), default=None)
    if most is None:
        return shown
    return [replace(one, turns=one.turns[max(0, len(one.turns) - most) :]) for one in shown]


def _newest_that_fit(turns: Sequence[Exchange], characters: int) -> int:
    left = characters
    for number, turn in enumerate(reversed(turns)):
        left -= len(turn.question) + len(turn.answer)
        if left < 0:
            return number
    return len(turns)


def _shorten_document(document: Document, longest: int) -> Document:
    texts = [document.background, *(text for turn in document.turns for text in (turn.question, turn.answer))]
    too_long = sum(len(text) > longest for text in texts)
    if not too_long:
        return document
    turns = tuple(
        Exchange(question=shorten(turn.question, longest), answer=shorten(turn.answer, longest))
        for turn in document.turns
    )
    return replace(
        document,
        background=shorten(document.background, longest),
        turns=turns,
        shortened=max(document.shortened, too_long),
    )
