"""A node of a Ray cluster: a machine, as a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Self

from replay.scenario.cluster_section import ClusterSection
from replay.workers.cluster import actors


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """One that is there."""

    id: str
    name: str
    """For people: its host, its address and the beginning of its id, since a host may have several."""
    resources: Mapping[str, float]
    """All that it has, whoever uses it now."""

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Self | None:
        """The one that ``ray.nodes`` *described*; None where it is gone."""
        if not described["Alive"]:
            return None
        id, host, address = (
            described["NodeID"],
            described["NodeManagerHostname"],
            described["NodeManagerAddress"],
        )
        return cls(id=id, name=f"{host} ({address}, {id[:8]})", resources=described["Resources"])

    def room_for(self, needed: Mapping[str, float]) -> float:
        """For how many actors it has what each *needed*, if nobody else uses it."""
        fits = (self.resources.get(what, 0) // amount for what, amount in needed.items() if amount)
        return min(fits, default=inf)

    @property
    def has(self) -> str:
        """What it has, for people."""
        # Ray has resources of its own beside, named for the node's address and kinds of accelerators.
        return listed({what: amount for what, amount in self.resources.items() if ":" not in what})


def nodes_there() -> list[ClusterNode]:
    """Those that the cluster has now."""
    return [node for node in map(ClusterNode.of, actors.all_nodes()) if node is not None]


def needed_to_play(section: ClusterSection) -> dict[str, float]:
    """What an actor that plays takes of a node."""
    return {"CPU": section.cpus, **section.resources}


def needed_to_score(section: ClusterSection) -> dict[str, float]:
    """What an actor whose scorers have a model takes of it."""
    return {"CPU": section.scoring.cpus, "GPU": section.scoring.gpus, **section.resources}


def listed(amounts: Mapping[str, float]) -> str:
    """*amounts* of resources by name, for people."""
    return ", ".join(f"{what} {amount:g}" for what, amount in sorted(amounts.items()) if amount) or "nothing"
