"""The shipped resolver keeps what any resolver must keep."""

from __future__ import annotations

import pytest

from replay.coreference.reading.embedded import EmbeddedResolver
from replay.testing import ResolverContract


class TestEmbedded(ResolverContract):
    @pytest.fixture
    def resolver(self):
        return EmbeddedResolver()
