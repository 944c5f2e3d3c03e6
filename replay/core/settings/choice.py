"""
What sections of our files have in common, and a plug-in chosen by name.

How large a setting may be, with the reason: a slip of the keyboard must not eat a machine's memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


def at_most(limit: float, why: str) -> AfterValidator:
    """Return a validator that refuses numbers above *limit*, infinity and NaN, and says *why*."""

    def check(value: float) -> float:
        if not value <= limit:
            shown = f"{value:.10g}" if isinstance(value, float) else f"{value:,}"
            raise ValueError(f"{shown:.40} is more than {limit:,}, the most that is allowed: {why}")
        return value

    return AfterValidator(check)


MOST_TOGETHER = 65_536
Together = Annotated[int, Field(ge=1), at_most(MOST_TOGETHER, "there are no more ports towards one address")]
"""Conversations, or users, at a time."""
Processes: AfterValidator = at_most(64, "each is a process with memory of its own")
Attempts = Annotated[int, Field(ge=1), at_most(1_000, "after so many a system doesn't answer")]
_A_WEEK = at_most(604_800, "that is a week, in seconds")
Seconds = Annotated[float, Field(ge=0), _A_WEEK]
PositiveSeconds = Annotated[float, Field(gt=0), _A_WEEK]
PerSecond = Annotated[float, Field(gt=0), at_most(1_000_000, "one machine sends no more in a second")]
Count = Annotated[int, Field(ge=1), at_most(1_000_000_000, "more would take months")]


class Section(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=False)


class LimitSection(Section):
    """A system's politeness limit."""

    asks: Count
    """So many asks, retries included."""
    per_s: PositiveSeconds
    """In so many seconds."""


class Choice(Section):
    """
    A plug-in by name, with settings.

    Written as ``name``, as ``{name: {setting: value}}`` or, to call it something else in tables, as
    ``{own_name: name, settings: {setting: value}}``.
    """

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    called: str | None = None
    """What it is called in place of its own name and settings."""

    @property
    def label(self) -> str:
        """
        Return the label in records and tables: ``replace``, ``replace(always=True)``, ``word_ratio``.

        A setting that is a plug-in is shown by its name: ``rewrite(rewriter=llm)``; other mappings by their
        content: ``pred(history=last:4)``; a model's path or hub name by its last part.
        """
        if self.called is not None:
            return self.called
        if not self.settings:
            return self.name
        shown = {key: _in_short(value) for key, value in self.settings.items()}
        if isinstance(model := shown.get("model"), str):
            shown["model"] = model.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or model
        return f"{self.name}({','.join(f'{key}={value}' for key, value in shown.items())})"

    @property
    def settings_key(self) -> str:
        """Under which key of its entry the settings stand."""
        return self.name if self.called is None else "settings"


def _in_short(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return "+".join(
        str(key) if isinstance(item, Mapping) or item is None or item is True else f"{key}:{item}"
        for key, item in value.items()
    )


FORMS = "a name, or {name: {setting: value}}, or {own_name: name, settings: {setting: value}}"


def read_choice(value: Any) -> Any:
    """
    Return the fields of a ``Choice`` (or the choice itself) from a *value* of a scenario.

    Raises:
        ValueError: it is in none of the forms.
    """
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Choice) or (isinstance(value, Mapping) and set(value) == {"name", "settings"}):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, settings),) = value.items()
        if isinstance(name, str) and (settings is None or isinstance(settings, Mapping)):
            return {"name": name, "settings": settings or {}}
    if isinstance(value, Mapping):
        named = [(key, name) for key, name in value.items() if isinstance(name, str) and key != "settings"]
        if len(named) == 1 and "name" not in value:
            return _choice_with_label(*named[0], value)
    raise ValueError(f"{FORMS}, is expected here")


def _choice_with_label(called: Any, name: str, value: Mapping[str, Any]) -> Any:
    """Return the choice *name* with the label *called*."""
    if ":" in str(called) and ":" not in name:
        raise ValueError(f'the name comes first and the plug-in after it: {{{name}: "{called}"}}')
    if not re.fullmatch(r"[A-Za-z][\w-]*", str(called)):
        raise ValueError(
            f'"{called}" can\'t be what "{name}" is called; letters, digits, _ and - are allowed, a letter '
            "first"
        )
    others = [str(key) for key in value if key not in (called, "settings")]
    if others:
        raise ValueError(
            f'only "settings" can stand beside {called}: {name}, and "{others[0]}" does; '
            f"settings are written {{{called}: {name}, settings: {{{others[0]}: ...}}}}"
        )
    settings = value.get("settings")
    if settings is not None and not isinstance(settings, Mapping):
        raise ValueError(f"settings is {settings!r}; expected {{setting: value}}")
    return {"name": name, "settings": settings or {}, "called": called}


PluginChoice = Annotated[Choice, BeforeValidator(read_choice)]
