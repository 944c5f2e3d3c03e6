"""How much of what was said a page shows."""

from __future__ import annotations

from dataclasses import dataclass

from replay.web.pages import ClippedText, clip


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLimits:
    """How much of a long text is shown."""

    first: int = 1200
    most: int = 20_000
    passages: int = 5
    steps: int = 60
    """Messages of tools and of the system between a question and its answer."""

    def clip(self, text: str) -> ClippedText:
        return clip(text, first=self.first, most=self.most)

    def clip_passage(self, text: str) -> ClippedText:
        return clip(text, first=min(400, self.first), most=min(self.most, 4000))
