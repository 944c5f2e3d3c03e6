"""Why an actor of Ray's is gone, in words for whoever runs it."""

from __future__ import annotations


def failure_reason(error: Exception) -> str:
    """What *error*, of a call of the actor, says of it."""
    from ray import exceptions

    said = [line.strip() for line in str(error).splitlines() if line.strip()]
    last = said[-1] if said else type(error).__name__
    if isinstance(error, exceptions.OutOfMemoryError) or "running low on memory" in str(error):
        return (
            "the node ran out of memory, and Ray ended the actor; play fewer conversations at a time "
            "(play.concurrency), or say what an actor takes (cluster.resources: {memory: BYTES})"
        )
    if isinstance(error, exceptions.ActorUnavailableError):
        return "it does not answer"
    if isinstance(error, exceptions.ActorDiedError) and error.preempted:
        return "its cloud took it back"
    return last
