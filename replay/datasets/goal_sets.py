"""
Test cases of other tools for simulated users: a goal, and what belongs to it, in the place of questions.

- tau2-bench, ``tasks.json`` (Barres et al., 2025; ``tau2/data_model/tasks.py``). The reason for the call is
  what the user wants; how they go about it, and what they don't know, are guidelines.
- MLflow, test cases of ``ConversationSimulator`` (``goal``, ``persona``, ``simulation_guidelines``), also as
  records of an evaluation data set. ``context`` goes to the program under test and not to the user: it is
  metadata.
- Google ADK, eval sets and files of ``ConversationScenario``, with names in either style. A persona of its
  registry is a name alone here.
- LangWatch, scenarios of the platform (``langwatch scenario list --format json``); its scripts are programs.

What these tools judge by is in the metadata as ``criteria``, and with ``rubrics`` a check of each
conversation's end, for a judge of the kind ``rubric``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from replay.core.conversation import Conversation, UserGoal
from replay.core.errors import DatasetError
from replay.core.expectation import Expectation
from replay.datasets.data_file import SourceLocation, open_data
from replay.datasets.json_rows import Outline, has_only, outline, rows_of_any, rows_of_list
from replay.datasets.reader import conversations

_HEAD_BYTES = 64 * 1024


def _rubrics(texts: Sequence[str], wanted: bool) -> tuple[Expectation, ...]:
    return tuple(Expectation(kind="rubric", value=text) for text in texts) if wanted else ()


def _metadata(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _called_by_place(place: SourceLocation) -> str:
    return f"{place.path.name}:{place.item or place.line}"


class _Instructions(msgspec.Struct):
    task_instructions: str
    reason_for_call: str
    domain: str = ""
    known_info: str | None = None
    unknown_info: str | None = None


class _UserScenario(msgspec.Struct):
    instructions: str | _Instructions
    persona: str | None = None


class _Action(msgspec.Struct):
    requestor: str = "assistant"


class _Criteria(msgspec.Struct):
    actions: list[_Action] | None = None
    communicate_info: list[str] | None = None
    nl_assertions: list[str] | None = None
    reward_basis: tuple[str, ...] = ("DB", "COMMUNICATE")


class _InitialState(msgspec.Struct):
    message_history: list[Any] | None = None


class _Description(msgspec.Struct):
    purpose: str | None = None


class _Tau2Task(msgspec.Struct):
    id: str | int
    user_scenario: _UserScenario
    description: str | _Description | None = None
    initial_state: _InitialState | None = None
    evaluation_criteria: _Criteria | None = None
    user_tools: list[str] | None = None


_TASK_FIELDS = {
    *("description", "ticket", "initial_state", "evaluation_criteria", "annotations", "issues"),
    *("required_documents", "user_tools"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tau2Reader:
    """Reads tasks of tau2-bench whose user has no tools and whose conversation begins with them."""

    rubrics: bool = False
    """Each of ``nl_assertions`` is a check of the conversation's end."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first item has a task's fields and no others."""
        found = outline(head)
        keys = (found.get(at) for at in ("[]", ""))
        return any(has_only(one, required={"id", "user_scenario"}, optional=_TASK_FIELDS) for one in keys)

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a task. Raises a ``DatasetError`` if the file can't be read."""
        yield from conversations(rows_of_any(path, _Tau2Task), self._build)

    def _build(self, task: _Tau2Task, place: SourceLocation) -> Conversation:
        criteria = task.evaluation_criteria or _Criteria()
        if task.initial_state and task.initial_state.message_history:
            message = "has messages; a conversation that goes on from others can't be simulated"
            raise place.error(message, "initial_state.message_history")
        if task.user_tools or any(action.requestor == "user" for action in criteria.actions or ()):
            field = "user_tools" if task.user_tools else "evaluation_criteria.actions"
            raise place.error("the user calls tools, and users here only talk", field)
        told = criteria.communicate_info if "COMMUNICATE" in criteria.reward_basis else None
        asserted = criteria.nl_assertions or []
        scenario, domain = task.user_scenario, ""
        if isinstance(scenario.instructions, str):
            goal = UserGoal(wants=scenario.instructions, persona=scenario.persona or "")
        else:
            goal = _goal_of_call(scenario.instructions, scenario.persona)
            domain = scenario.instructions.domain
        about = task.description.purpose if isinstance(task.description, _Description) else task.description
        return Conversation(
            id=str(task.id),
            turns=(),
            goal=goal,
            metadata=_metadata(domain=domain, purpose=about, criteria=asserted),
            expect=(
                *(Expectation(kind="contains", value=text) for text in told or ()),
                *_rubrics(asserted, self.rubrics),
            ),
        )


def _goal_of_call(told: _Instructions, persona: str | None) -> UserGoal:
    unknown = [f"You do not know: {told.unknown_info}"] if told.unknown_info else []
    return UserGoal(
        wants=told.reason_for_call.strip(),
        persona=persona or "",
        facts={"about you": told.known_info} if told.known_info else {},
        guidelines=tuple(text for text in (told.task_instructions.strip(), *unknown) if text),
    )


class _TestCase(msgspec.Struct):
    goal: str | None = None
    persona: str | None = None
    context: dict[str, Any] | None = None
    expectations: dict[str, Any] | None = None
    simulation_guidelines: str | list[str] | None = None


class _TestCaseRow(_TestCase):
    inputs: _TestCase | None = None


_CASE_FIELDS = {"persona", "context", "expectations", "simulation_guidelines"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MlflowReader:
    """Reads test cases of MLflow's conversation simulation, called by file and number."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first item has a test case's fields and no others, or has them as ``inputs``."""
        found = outline(head)
        is_record = any(
            has_only(found.get(at), required={"inputs"}, optional={"expectations", "tags", "source"})
            and _is_case(found, f"{at}.inputs")
            for at in ("", "[]")
        )
        return is_record or any(_is_case(found, at) for at in ("", "[]"))

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a test case. Raises a ``DatasetError`` if the file can't be read."""
        yield from conversations(rows_of_any(path, _TestCaseRow), self._build)

    @staticmethod
    def _build(row: _TestCaseRow, place: SourceLocation) -> Conversation:
        case = row.inputs or row
        if case.goal is None:
            raise place.error("is required but missing", "inputs.goal" if row.inputs else "goal")
        said = case.simulation_guidelines or []
        return Conversation(
            id=_called_by_place(place),
            turns=(),
            goal=UserGoal(
                wants=case.goal,
                persona=case.persona or "",
                guidelines=(said,) if isinstance(said, str) else tuple(said),
            ),
            metadata=_metadata(context=case.context, expectations=case.expectations or row.expectations),
        )


def _is_case(found: Outline, at: str) -> bool:
    return has_only(found.get(at), required={"goal"}, optional=_CASE_FIELDS)


class _Behavior(msgspec.Struct):
    name: str = ""
    behavior_instructions: list[str] = []


class _Persona(msgspec.Struct):
    description: str
    behaviors: list[_Behavior] = []


class _Scenario(msgspec.Struct):
    starting: str | None = msgspec.field(default=None, name="starting_prompt")
    starting_camel: str | None = msgspec.field(default=None, name="startingPrompt")
    plan: str | None = msgspec.field(default=None, name="conversation_plan")
    plan_camel: str | None = msgspec.field(default=None, name="conversationPlan")
    user: str | _Persona | None = msgspec.field(default=None, name="user_persona")
    user_camel: str | _Persona | None = msgspec.field(default=None, name="userPersona")


class _AdkRow(_Scenario):
    """An eval case, or a scenario by itself."""

    eval_id: str | None = None
    eval_id_camel: str | None = msgspec.field(default=None, name="evalId")
    scenario: _Scenario | None = msgspec.field(default=None, name="conversation_scenario")
    scenario_camel: _Scenario | None = msgspec.field(default=None, name="conversationScenario")
    conversation: list[Any] | None = None
    rubrics: list[dict[str, Any]] | None = None


_SCENARIO_KEYS = ("conversation_scenario", "conversationScenario")
_LISTS = ("eval_cases", "evalCases", "scenarios")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdkReader:
    """Reads eval sets of Google ADK whose cases are conversation scenarios, and files of scenarios alone."""

    rubrics: bool = False
    """Each rubric of a case is a check of the conversation's end."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the file is an object with a list of such cases and nothing of other formats."""
        return _list_of_cases(outline(head)) is not None

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a case. Raises a ``DatasetError`` if the file can't be read."""
        with open_data(path) as stream:
            key = _list_of_cases(outline(stream.read(_HEAD_BYTES)))
        yield from conversations(rows_of_list(path, _AdkRow, key=key or _LISTS[0]), self._build)

    def _build(self, row: _AdkRow, place: SourceLocation) -> Conversation:
        within = row.scenario or row.scenario_camel
        if within is None and row.conversation is not None:
            raise place.error("is a recorded conversation, not a scenario", "conversation")
        scenario: _Scenario = within or row
        plan = scenario.plan if scenario.plan is not None else scenario.plan_camel
        if plan is None:
            field = "conversation_plan" if within is None else "conversation_scenario.conversation_plan"
            raise place.error("is required but missing", field)
        opener = scenario.starting if scenario.starting is not None else scenario.starting_camel
        criteria = [text for one in row.rubrics or () if (text := _property(one))]
        name = row.eval_id or row.eval_id_camel
        return Conversation(
            id=_called_by_place(place) if name is None else name,
            turns=(),
            goal=UserGoal(
                wants=plan, persona=_persona_text(scenario.user or scenario.user_camel), opener=opener or None
            ),
            metadata=_metadata(criteria=criteria),
            expect=_rubrics(criteria, self.rubrics),
        )


def _list_of_cases(found: Outline) -> str | None:
    """Return under which key the cases are; None where there are none."""
    about = {"eval_set_id", "evalSetId", "name", "description", "creation_timestamp", "creationTimestamp"}
    for key in _LISTS:
        if not has_only(found.get(""), required={key}, optional=about):
            continue
        cases = found.get(f".{key}[]", frozenset())
        if {"starting_prompt", "startingPrompt"} & cases or set(_SCENARIO_KEYS) & cases:
            return key
    return None


def _property(rubric: Mapping[str, Any]) -> str | None:
    content = rubric.get("rubric_content") or rubric.get("rubricContent") or {}
    found = content.get("text_property") or content.get("textProperty") if isinstance(content, dict) else None
    return found if isinstance(found, str) else None


def _persona_text(persona: str | _Persona | None) -> str:
    if persona is None or isinstance(persona, str):
        return persona or ""
    told = [text for behavior in persona.behaviors for text in behavior.behavior_instructions]
    return " ".join((persona.description.strip(), *(text.strip() for text in told)))


class _PlatformScenario(msgspec.Struct):
    name: str
    situation: str
    id: str | None = None
    criteria: list[str] = []
    labels: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class LangWatchReader:
    """Reads scenarios of the LangWatch platform."""

    rubrics: bool = False
    """Each criterion is a check of the conversation's end."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first item has a scenario's fields and no others."""
        found = outline(head)
        fields = {"id", "criteria", "labels", "testSuiteId", "platformUrl"}
        keys = (found.get(at) for at in ("[]", ""))
        return any(has_only(one, required={"name", "situation"}, optional=fields) for one in keys)

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a scenario. Raises a ``DatasetError`` if the file can't be read."""
        yield from conversations(rows_of_any(path, _PlatformScenario), self._build)

    def _build(self, row: _PlatformScenario, place: SourceLocation) -> Conversation:
        return Conversation(
            id=row.id or _called_by_place(place),
            turns=(),
            title=row.name,
            goal=UserGoal(wants=row.situation),
            metadata=_metadata(criteria=row.criteria, labels=row.labels),
            expect=_rubrics(row.criteria, self.rubrics),
        )
