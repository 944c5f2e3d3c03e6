"""
What a user says to a system's answers within a turn, until they have no more to say.

Most turns have no such user and are over with the first answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from replay.core.adapter import ChatReply, ChatRequest
from replay.core.errors import AdapterError
from replay.core.history import PlayedTurn, own_history, with_recorded_context
from replay.core.message import Message
from replay.core.record import Intervention
from replay.play.play import Play
from replay.play.tool_loop import Ask, ToolLoop
from replay.policies.policy import PlannedTurn, reacting


async def converse(
    loop: ToolLoop,
    ask: Ask,
    request: ChatRequest,
    play: Play,
    planned: PlannedTurn,
    before: Sequence[PlayedTurn],
) -> tuple[Intervention, ...]:
    """
    Ask *request* and follow the answer up; *loop* has what came of it, from where it stood.

    Each answer is durable before the user words anything, and what they say before it is asked, so that a run
    that was killed goes on from there.

    Args:
        before: The turns before the one under way.

    Returns:
        What the user did after replies, in order.

    Raises:
        ResolverError: what a user would say could not be judged.
    """
    user, tools, conversation = reacting(play.policy), play.system.tools, play.conversation
    if user is None:
        await loop.run(ask, request, tools, conversation)
        return ()
    done = list(loop.follow_ups)
    if done:
        request = _request(request, done[-1], loop, play, planned, before)
    if loop.reply_to_follow_up is None:
        await loop.run(ask, request, tools, conversation)
    while True:
        outcome = loop.outcome
        if isinstance(outcome, AdapterError) and (done or play.system.adapter.history == "server"):
            break
        now = _under_way(loop, play, planned, request.depth)
        seen = user.occasion(
            conversation,
            request.depth,
            (*before, now),
            drift=planned.drift,
            so_far=done,
            failure=str(outcome) if isinstance(outcome, AdapterError) else None,
        )
        if seen is None:
            break
        await loop.set_aside()
        one = await user.follow_up(conversation, request.depth, (*before, now), seen, planned.drift)
        done.append(one)
        if one.said is None:
            break
        await loop.follow_up(one)
        request = _request(request, one, loop, play, planned, before)
        await loop.run(ask, request, tools, conversation)
    loop.take_back()
    return tuple(done)


def _under_way(loop: ToolLoop, play: Play, planned: PlannedTurn, depth: int) -> PlayedTurn:
    answer, steps, outcome = None, loop.steps, loop.outcome
    if isinstance(outcome, ChatReply):
        answer = outcome.text
        is_set_aside = bool(steps) and steps[-1] == Message(role="assistant", text=answer)
        steps = steps[:-1] if is_set_aside else (*steps, *outcome.steps)
    turn = play.conversation.turns[depth - 1]
    return PlayedTurn(turn=turn, asked=planned.question, answer=answer, steps=steps)


def _request(
    request: ChatRequest,
    said: Intervention,
    loop: ToolLoop,
    play: Play,
    planned: PlannedTurn,
    before: Sequence[PlayedTurn],
) -> ChatRequest:
    """Return *request* as *said* puts it, after all that was said before, in this turn too."""
    turn = play.conversation.turns[request.depth - 1]
    *steps, last = loop.steps[: loop.exchange_start - 1] or (Message(role="user"),)
    played = list(before)
    if last.role == "assistant":
        played.append(PlayedTurn(turn=turn, asked=planned.question, answer=last.text, steps=tuple(steps)))
    history = own_history(played)
    if (view := getattr(play.policy, "view", None)) is not None:
        history, _ = view.apply(history)
    asked_with: tuple[Message, ...] = ()
    if any(one.asked_with for one in play.conversation.turns):
        # After a failed ask the question's own messages have not been sent yet.
        now = replace(turn, asked_with=()) if last.role == "assistant" else turn
        history, asked_with = with_recorded_context(history, played, now)
    shown = () if play.system.adapter.history == "server" else history
    return replace(request, question=said.said or "", history=shown, asked_with=asked_with)
