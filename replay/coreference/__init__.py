"""
What the expressions of a question refer to, in the recorded history and in a system's own.

For use from a program of your own::

    import replay.coreference

    resolver = replay.coreference.load("embedded")
    readings = resolver.resolve_question(
        {"title": "Ann Lee", "section": "Early life", "text": ""},
        [("Who taught her?", "The pianist Bob Ray.")],
        "When did he meet her?",
    )
    [(r.mention.start, r.mention.text, r.antecedent, r.distribution) for r in readings]

Nothing is imported before ``load`` is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replay.coreference.reading.readings import QuestionReader

__all__ = ["load"]


def load(
    name: str = "embedded", settings: Mapping[str, Any] | None = None, folder: Path | None = None
) -> QuestionReader:
    """
    Return a reader with the resolver *name*: ``load("embedded").resolve_question(...)``.

    Args:
        name: A registered resolver, ``module:attribute`` or ``file.py:attribute``.
        settings: The resolver's own settings.
        folder: The folder that a file is looked up from, by default the current one.

    Raises:
        PluginError: there is no such resolver, or it can't be imported.
        ScenarioError: its settings don't fit.
    """
    from replay.core.safety.consent import code_may_run
    from replay.coreference.reading.readings import QuestionReader
    from replay.coreference.service.worker import ResolverChoice

    choice = ResolverChoice(name=name, settings=settings or {}, folder=folder or Path())
    with code_may_run():
        return QuestionReader(choice.build())
