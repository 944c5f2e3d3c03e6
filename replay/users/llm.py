"""
``llm``: a user played by a chat system, through any adapter; its prompt is a file.

It is shown the intent, what the recorded user knew, how they write and what was really said, and never a
recorded answer; without a script (``for_goals``) the goal, with all that belongs to it. Replies are kept on
disk, each wording by all that it depends on, so that a run that is resumed or made again pays for none twice.
What it writes is tested by the policy, and asked again with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from replay.core.adapter import Adapter
from replay.core.asking.cached import CachingClient, Model, Question, build_model
from replay.core.asking.costs import NO_PRICES, AskTally, Prices, PriceTable, cost_usd
from replay.core.asking.limits import RateLimit
from replay.core.asking.prompt import Prompt, PromptError, short_hash
from replay.core.asking.retries import RetryPolicy, open_endpoints
from replay.core.disk_cache import DiskCache, cache_path
from replay.core.errors import AdapterError, AdapterReplyError
from replay.core.record import Move
from replay.core.settings.choice import LimitSection
from replay.users.faithful import GIVEN_UP, REACHED
from replay.users.user import WHY, Wording, WordingRequest, skip

PATIENCE = RetryPolicy(timeout_s=60.0, attempts=3, retry_budget_s=60.0)
FILE = "users.db"
SKIP = "SKIP"
"""What the model writes where it has nothing to say."""
_ENDS: Mapping[str, Move] = {REACHED: "goal-reached", GIVEN_UP: "given-up"}
VARIABLES = tuple(
    """
    question standalone rewritten meanings facts own_turns history reply occasion why evidence rejected
    persona depth
    """.split()  # noqa: SIM905 - words in quotes are no easier to read
)
GOAL_VARIABLES = ("goal", "guidelines", "facts", "history", "reply", "rejected", "persona", "depth")
_PROMPTS = Path(__file__).resolve().parent / "prompts"


@dataclass(slots=True, kw_only=True)
class LlmUser:
    """Asks a chat system what the user says; an async context manager, open while it is asked."""

    model: Model
    prompt: Prompt
    goal_prompt: Prompt | None = None
    """The prompt where there is no script; ours where it is None."""
    persona: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0})
    seed: int = 0
    patience: RetryPolicy = PATIENCE
    cache: Path | None = None
    """Where replies are kept; None where they are not."""
    tally: AskTally = field(default_factory=AskTally)
    _asker: CachingClient = field(init=False)
    _stack: AsyncExitStack = field(init=False, default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self._asker = CachingClient("user", self.patience, DiskCache(self.cache), self.tally)

    @property
    def signature(self) -> str:
        """Model, prompt, persona, parameters and seed: everything that can change its words."""
        asked = (
            f"prompt:{self.prompt.hash},persona:{short_hash(self.persona)[:8] if self.persona else 'none'}"
        )
        parameters = json.dumps(dict(self.model.sent_parameters(self.parameters)), sort_keys=True)
        return f"llm({self.model.signature},{asked},parameters:{short_hash(parameters)},seed:{self.seed})"

    def for_goals(self) -> LlmUser:
        """Return the same user with the prompt for goals."""
        return replace(self, prompt=self.goal_prompt or read_goal_prompt())

    @property
    def limit(self) -> RateLimit | None:
        return self.model.limit

    @property
    def adapter(self) -> Adapter:
        return self.model.adapter

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(open_endpoints([self.model]))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def word(self, request: WordingRequest) -> Wording:
        """
        Return what the model writes; a skip where it writes ``SKIP``, or nothing came.

        Raises:
            RunStoppedError: the endpoint refuses our key and has answered nothing yet.
        """
        self.tally.verdicts += 1
        try:
            question = Question(
                model=self.model,
                step="user",
                prompt=self.prompt.render(self.variables(request)),
                parameters=self.model.sent_parameters({**self.parameters, "seed": self.seed}),
                depth=request.depth,
                sample=f"seed:{self.seed}",
            )
            reply, is_cached = await self._asker.reply(question, once=True)
        except PromptError as error:
            return skip(f"the user's prompt can't be filled in: {error}")
        except AdapterReplyError:  # adapters take an empty text for no reply
            return Wording(move=request.usual_move, text=" ", source="model", asks=1)
        except AdapterError as error:
            self.tally.unscored += 1
            return skip(f"the user's model gave no reply ({error.outcome}): {error}")
        spent = 0.0 if is_cached else cost_usd(reply, self.model.prices)
        asks = 0 if is_cached else 1
        text = reply.text.strip()
        if (end := _ENDS.get(text.strip("*#.! "))) and request.goal is not None:
            return Wording(move=end, text=text, source="model", asks=asks, cost_usd=spent)
        if text.strip(".! ") == SKIP:
            note = "the model has nothing to say that is known"
            return Wording(move="skip", note=note, asks=asks, cost_usd=spent)
        # An empty text is no skip: it fails the tests, and is asked again.
        return Wording(move=request.usual_move, text=text or " ", source="model", asks=asks, cost_usd=spent)

    def variables(self, request: WordingRequest) -> dict[str, Any]:
        """Return the values of ``VARIABLES`` and ``GOAL_VARIABLES`` for *request*."""
        goal = request.goal
        own = [] if goal is None else [goal.persona]
        return {
            "goal": "" if goal is None else goal.wants,
            "guidelines": [] if goal is None else list(goal.guidelines),
            "question": request.question,
            "standalone": request.standalone or "",
            "rewritten": request.rewritten or "",
            "meanings": [{"text": text, "meaning": meaning} for text, meaning in request.meanings],
            "facts": [{"kind": fact.kind, "value": fact.value} for fact in request.facts],
            "own_turns": list(request.own_turns),
            "history": [{"question": e.question, "answer": e.answer} for e in request.history],
            "reply": request.reply,
            "occasion": request.occasion,
            "why": WHY[request.occasion],
            "evidence": request.evidence,
            "rejected": [{"text": one.text, "reason": one.reason} for one in request.rejected],
            "persona": "\n".join(filter(None, [*own, self.persona])),
            "depth": request.depth,
        }


def llm_user(
    *,
    adapter: str,
    folder: Path,
    price_table: PriceTable = NO_PRICES,
    settings: dict[str, Any] | None = None,
    prompt: Path | None = None,
    goal_prompt: Path | None = None,
    persona: Path | None = None,
    parameters: dict[str, Any] | None = None,
    seed: int = 0,
    timeout_s: float = PATIENCE.timeout_s,
    attempts: int = PATIENCE.attempts,
    limit: LimitSection | None = None,
    prices: Prices | None = None,
    cache: bool | Path = True,
) -> LlmUser:
    """
    Return a user from a scenario's settings.

    Args:
        adapter: The adapter of the model, as for a system.
        folder: The folder that relative paths start from.
        price_table: The scenario's.
        settings: The adapter's settings.
        prompt: A file with a prompt of your own; ours by default.
        goal_prompt: The same where there is no script.
        persona: A file that says who the user is.
        parameters: Sent with every ask if the adapter can; by default ``{temperature: 0}``.
        seed: Sent along where the adapter takes one.
        timeout_s: The time limit for an attempt, above 0, in seconds.
        attempts: Attempts at most, after failures that may pass, at least 1.
        limit: The rate limit; none by default.
        prices: What the model charges; by the scenario's table when left out.
        cache: A file of its own for the replies, or false for none.

    Raises:
        ScenarioError: the adapter can't be used.
        ValueError: a number is out of its range, or a file can't be used.
    """
    if timeout_s <= 0 or attempts < 1:
        raise ValueError("timeout_s must be above 0, attempts at least 1")
    given = settings or {}
    kept = cache_path(FILE) if cache else None
    return LlmUser(
        model=build_model(
            adapter,
            given,
            folder=folder,
            limit=limit,
            prices=prices or price_table.prices_of(given.get("model")),
        ),
        prompt=Prompt(prompt or _PROMPTS / "user.txt", VARIABLES, needs=("question", "standalone")),
        goal_prompt=None if goal_prompt is None else read_goal_prompt(goal_prompt),
        persona=_persona(persona),
        parameters={"temperature": 0} if parameters is None else parameters,
        seed=seed,
        patience=replace(PATIENCE, timeout_s=timeout_s, attempts=attempts),
        cache=cache if isinstance(cache, Path) else kept,
    )


def read_goal_prompt(path: Path = _PROMPTS / "goal.txt") -> Prompt:
    """
    Return the prompt of a user without a script.

    Raises:
        ValueError: the file can't be used.
    """
    return Prompt(path, GOAL_VARIABLES, needs=("goal",))


def _persona(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ValueError(f'the persona file "{path}" can\'t be read: {reason}') from error
