"""The ``cluster`` section of a scenario: which nodes of Ray play it."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from replay.core.settings.bounds import Count, PositiveSeconds
from replay.core.settings.choice import Section

_ADDRESS = re.compile(r"(ray://)?([^\s:/]+|\[[0-9A-Fa-f:]+\]):\d{1,5}")


class ScoringSection(Section):
    """How scorers that have a model observe are spread over the nodes, by Ray Data."""

    actors: Count | None = None
    """Each loads the models; left out, one for each node that has what an actor takes."""
    batch: Count = 256
    """Turns, at least, that an actor is given at a time; whole plays of conversations."""
    cpus: float = Field(default=1.0, ge=0, le=1000)
    """Of Ray's CPUs, for each actor; its model has as many threads."""
    gpus: float = Field(default=0.0, ge=0, le=1000)
    """Of Ray's GPUs, for each actor: with 0.5 two of them share one."""


class ClusterSection(Section):
    """Nodes that play in the place of this machine."""

    address: str = "auto"
    """Where the cluster is: ``auto`` for that of ``RAY_ADDRESS`` or of this machine, ``ray://HOST:10001``
    from outside of it, ``HOST:6379`` from within."""
    per_node: int = Field(default=1, ge=1, le=1000)
    """Actors on each node, each with an event loop of its own."""
    cpus: float = Field(default=1.0, ge=0, le=1000)
    """Of Ray's CPUs, for each actor."""
    resources: dict[str, float] = Field(default_factory=dict)
    """Of Ray's own resources, for each actor, as in ``{bot: 1}``: it is only on nodes that have them."""
    files: tuple[str, ...] = ()
    """More files and folders (patterns too), relative to the scenario's folder, that code on the nodes reads
    and that no setting names."""
    lost_sessions: Literal["restart", "abandon"] = "restart"
    """What becomes of a conversation that a lost node was playing with a system that keeps the history:
    ``restart``: it begins anew elsewhere, its earlier turns are put aside; ``abandon``: it ends there with
    the outcome ``lost``, so that nothing is asked twice."""
    scoring: ScoringSection = ScoringSection()
    wait_s: PositiveSeconds = 60.0
    """How long to wait for a node where there is none, before the run is stopped; and for room on one that
    others use."""

    @field_validator("address")
    @classmethod
    def _names_a_cluster(cls, address: str) -> str:
        if address != "auto" and not _ADDRESS.fullmatch(address):
            raise ValueError(
                f'"{address}" is no address of a cluster: auto, ray://HOST:10001 or HOST:6379 is expected'
            )
        return address
