"""
For whoever writes a plug-in: what one must keep, as test classes, and what tests need to keep still.

Contracts need pytest and pytest-asyncio (``pip install "convreplay[testing]"``); everything else here needs
nothing beyond the package. ``docs/plugins.md`` shows each at work. The public names are listed once, with
their homes, in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
