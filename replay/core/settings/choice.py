"""What sections of our files have in common, and a plug-in chosen by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class LimitSection(Section):
    """A system's politeness limit."""

    asks: int = Field(ge=1)
    per_s: float = Field(gt=0)


class Choice(Section):
    """A plug-in by name, with settings; written as ``name`` or ``{name: {setting: value}}``."""

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        """
        How it is called in records and tables: ``replace``, ``replace(always=True)``.

        Of a plug-in among the settings the name alone: ``rewrite(rewriter=llm)``.
        """
        if not self.settings:
            return self.name
        shown = {
            key: next(iter(value)) if isinstance(value, Mapping) and len(value) == 1 else value
            for key, value in self.settings.items()
        }
        return f"{self.name}({','.join(f'{key}={value}' for key, value in shown.items())})"


def _choice(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, settings),) = value.items()
        if isinstance(name, str) and (settings is None or isinstance(settings, Mapping)):
            return {"name": name, "settings": settings or {}}
    if isinstance(value, (Choice, Mapping)) and (
        isinstance(value, Choice) or set(value) == {"name", "settings"}
    ):
        return value
    raise ValueError("a name, or {name: {setting: value}}, is expected here")


PluginChoice = Annotated[Choice, BeforeValidator(_choice)]
