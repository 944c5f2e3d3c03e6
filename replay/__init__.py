"""
convreplay: replay conversations against any chat system, the way production would.

The public names are listed once, with their homes, in ``__init__.pyi``; each is imported when it is
first used, so that ``replay --help`` stays quick and a stress test never loads what it doesn't need.
"""

import warnings

import lazy_loader

from replay.clash import clash

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

if _problem := clash():
    warnings.warn(_problem, RuntimeWarning, stacklevel=2)
