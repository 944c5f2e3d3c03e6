"""Every policy that comes with the program keeps what any policy must keep."""

from __future__ import annotations

import pytest

from replay.policies.augment import AugmentPolicy
from replay.policies.react import ReactPolicy
from replay.policies.recorded import FilterPolicy, GoldPolicy, PredPolicy, ReplacePolicy
from replay.policies.rewrite import RewritePolicy
from replay.testing import PolicyContract


class TestGold(PolicyContract):
    @pytest.fixture(params=["recorded", "standalone"])
    def policy(self, request):
        return GoldPolicy(question=request.param)


class TestPred(PolicyContract):
    @pytest.fixture(params=[True, False], ids=["with drift", "without drift"])
    def policy(self, request, detector):
        return PredPolicy(detector=detector, detect=request.param)


class TestRewrite(PolicyContract):
    @pytest.fixture(params=[True, False], ids=["always", "when invalid"])
    def policy(self, request, detector):
        return RewritePolicy(detector=detector, always=request.param)


class TestReplace(PolicyContract):
    @pytest.fixture(params=[True, False], ids=["always", "when invalid"])
    def policy(self, request, detector):
        return ReplacePolicy(detector=detector, always=request.param)


class TestAugment(PolicyContract):
    @pytest.fixture(params=["resolve", "prefix", "both"])
    def policy(self, request, detector):
        return AugmentPolicy(detector=detector, mode=request.param)


class TestFilter(PolicyContract):
    @pytest.fixture
    def policy(self, detector):
        return FilterPolicy(detector=detector)


class TestReact(PolicyContract):
    @pytest.fixture
    def policy(self, detector):
        return ReactPolicy(detector=detector)
