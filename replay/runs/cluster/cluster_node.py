"""A node of a Ray cluster: a machine, as a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from replay.scenario.cluster_section import ClusterSection


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
        # Ray has resources of its own beside these, named for the node's address and kinds of accelerators.
        resources = {what: amount for what, amount in described["Resources"].items() if ":" not in what}
        return cls(id=id, name=f"{host} ({address}, {id[:8]})", resources=resources)

    def actors(self, section: ClusterSection) -> int:
        """For how many actors it has what they take, if nobody else uses it."""
        needed = {"CPU": section.cpus, **section.resources}
        fits = [self.resources.get(what, 0) // amount for what, amount in needed.items() if amount]
        return int(min(fits, default=section.per_node))
