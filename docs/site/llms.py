"""Tells the plugin that writes llms.txt which pages there are: those of the navigation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give the plugin a section for each part of the navigation."""
    sections = {title: list(_pages(below)) for part in config.nav or [] for title, below in part.items()}
    config.plugins["llmstxt"].config.sections = sections
    return config


def _pages(below: Any) -> Iterator[str]:
    if isinstance(below, str):
        yield below
    elif isinstance(below, dict):
        for part in below.values():
            yield from _pages(part)
    else:
        for part in below:
            yield from _pages(part)
