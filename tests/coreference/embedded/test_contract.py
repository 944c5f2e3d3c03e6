"""The shipped resolvers keep what any resolver must keep."""

from __future__ import annotations

import pytest

from replay.coreference.embedded import EmbeddedResolver, RulesResolver
from replay.testing import ResolverContract


class TestEmbedded(ResolverContract):
    @pytest.fixture
    def resolver(self):
        return EmbeddedResolver()


class TestRules(ResolverContract):
    @pytest.fixture
    def resolver(self):
        return RulesResolver()
