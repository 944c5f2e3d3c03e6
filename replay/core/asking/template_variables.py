"""What the templates of adapters may use of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replay.core.conversation import Conversation
    from replay.core.history import Exchange


class _Variables(Mapping[str, Any]):
    """What a template may use; each is made when it is first asked for, since few templates use all."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Mapping[str, Callable[[], Any]]) -> None:
        self._make = make
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._make[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._make

    def __iter__(self) -> Iterator[str]:
        return iter(self._make)

    def __len__(self) -> int:
        return len(self._make)


def template_variables(
    conversation: Conversation,
    *,
    question: str = "",
    history: Sequence[Exchange] = (),
    depth: int = 1,
    session_id: str | None = None,
    system_prompts: Sequence[str] = (),
    seed: int | None = None,
) -> Mapping[str, Any]:
    """
    What a template may use.

    ``question``, ``depth``, ``history`` (objects with ``question`` and ``answer``), ``messages`` (history
    and question as chat messages, recorded system prompts among them), ``system_prompt`` (all of those,
    separated by blank lines; *system_prompts* are the ones before the question), ``conversation`` (``id``,
    ``title``, ``section``, ``background``), ``passage`` (all passages, separated by blank lines),
    ``passages`` (objects with ``id``, ``title``, ``text``), ``session_id`` and ``seed`` (None unless the
    scenario says ``play.seed_per_repeat``). Gold answers and standalone questions are not among them.
    """
    return _Variables(
        {
            "question": lambda: question,
            "depth": lambda: depth,
            "history": lambda: [{"question": e.question, "answer": e.answer} for e in history],
            "messages": lambda: _messages(history, question, system_prompts),
            "system_prompt": lambda: "\n\n".join(
                [prompt for e in history for prompt in e.system_prompts] + list(system_prompts)
            ),
            "conversation": lambda: {
                "id": conversation.id,
                "title": conversation.title,
                "section": conversation.section,
                "background": conversation.background,
            },
            "passage": lambda: "\n\n".join(p.text for p in conversation.passages),
            "passages": lambda: [
                {"id": p.id, "title": p.title, "text": p.text} for p in conversation.passages
            ],
            "session_id": lambda: session_id,
            "seed": lambda: seed,
        }
    )


def _messages(
    history: Sequence[Exchange], question: str, system_prompts: Sequence[str]
) -> list[dict[str, str]]:
    messages = []
    for e in history:
        messages += [{"role": "system", "content": prompt} for prompt in e.system_prompts]
        messages += [{"role": "user", "content": e.question}, {"role": "assistant", "content": e.answer}]
    messages += [{"role": "system", "content": prompt} for prompt in system_prompts]
    return [*messages, {"role": "user", "content": question}]
