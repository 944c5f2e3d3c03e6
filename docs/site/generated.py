"""Makes the reference from the code at each build: commands, scenario keys, plug-ins, Python."""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import replay
import replay.testing
from replay.cli import app
from replay.cli.verb_help import PANELS, VERB_HELP
from replay.core.settings.choice import Choice
from replay.core.settings.plugins import KINDS, Kind, available, settings_model
from replay.scenario.judge_section import JudgeSection
from replay.scenario.part_builder import HistorySection
from replay.scenario.sections import Scenario

PROTOCOLS: dict[str, Sequence[str]] = {
    "An adapter": ("replay.core.adapter.Adapter", "replay.core.adapter.Session",
                   "replay.core.adapter.ChatRequest", "replay.core.adapter.ChatReply"),
    "A policy": ("replay.policies.policy.Policy", "replay.policies.policy.PlannedTurn"),
    "A rewriter": ("replay.policies.rewrite.Rewriter",),
    "A user": ("replay.users.user.User",),
    "A scorer": ("replay.scorers.scorer.Scorer", "replay.scorers.scorer.MeanScorer",
                 "replay.scorers.scorer.DirectedScorer", "replay.scorers.scorer.UnitScorer"),
    "A judge": ("replay.scorers.judges.judge.Judge", "replay.scorers.judges.judge.AskJudge"),
    "A reader": ("replay.datasets.reader.Reader",),
    "A resolver": ("replay.coreference.reading.resolver.Resolver",
                   "replay.coreference.reading.resolver.MentionReader"),
}  # fmt: skip
BOOST = 0.2


def on_startup(*, command: str, dirty: bool) -> None:
    """Leave garbage where it is while the site is built once, which then takes a fifth less time."""
    if command == "build":
        gc.disable()


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    pages = {
        "commands": commands_page(),
        "scenario-keys": scenario_page(),
        "shipped-plug-ins": plugins_page(),
        "plug-in-protocols": protocols_page(),
        "python": python_page(),
    }
    for name, text in pages.items():
        # The tables hold so many words that they would come first for any question.
        text = f"---\nsearch:\n  boost: {BOOST}\n---\n\n{text}"
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


# Text


def _cell(text: str) -> str:
    """Return *text*, a docstring's, as a table's cell of Markdown."""
    text = " ".join(re.sub(r"``(.*?)``", r"`\1`", text, flags=re.DOTALL).split())
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + "\n"


def _first_paragraph(text: str) -> str:
    return _cell(text.strip().split("\n\n")[0])


# Commands


def commands_page() -> str:
    """Return the page of all verbs with their examples and options."""
    command: Any = typer.main.get_command(app)
    parts = ["# Commands\n", "All of this is also what `replay VERB --help` says.\n"]
    parts += ["## replay\n", _options(command)]
    for panel in PANELS:
        for name in command.commands:
            if VERB_HELP[name].panel == panel:
                parts += _verb(name, command.get_command(None, name))
    return "\n".join(parts)


def _verb(path: str, verb: Any) -> Iterator[str]:
    examples = VERB_HELP[path].examples
    yield f"## replay {path}\n"
    yield inspect.cleandoc(verb.help or "").replace("``", "`") + "\n"
    yield "```sh\n" + "\n".join(examples) + "\n```\n"
    below = getattr(verb, "commands", {})
    if not below:
        yield _options(verb)
    for name, one in below.items():
        yield from _verb(f"{path} {name}", one)


def _options(command: Any) -> str:
    context = command.make_context(command.name, [], resilient_parsing=True)
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [[_code(names), _cell(text)] for names, text in filter(None, records)]
    return _table(["argument or option", "meaning"], rows) if rows else ""


# Settings


def described(model: type[Any]) -> dict[str, str]:
    """Return the docstrings of the attributes of *model*, a class, and of those that it inherits from."""
    texts: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if one.__module__.partition(".")[0] in ("replay", "replay_adapters"):
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
            assert isinstance(tree, ast.ClassDef)
            for field, after in zip(tree.body, tree.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                    assert isinstance(field.target, ast.Name)
                    texts[field.target.id] = str(ast.literal_eval(after.value))
    return texts


def kind_of(annotation: Any) -> str:
    """Return in plain words what a value of *annotation* is in YAML."""
    origin, parts = get_origin(annotation), get_args(annotation)
    plain: Mapping[Any, str] = {
        str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path",
        Any: "any value", NoneType: "null",
    }  # fmt: skip
    if annotation in plain:
        return plain[annotation]
    if origin is Annotated:
        return kind_of(parts[0])
    if origin is Literal:
        return ", ".join(f"`{str(one).lower() if isinstance(one, bool) else one}`" for one in parts)
    if origin in (Union, UnionType):
        kinds = [kind_of(one) for one in parts if one is not NoneType]
        return " or ".join(dict.fromkeys(kinds))
    if origin in (tuple, list, Sequence) or (inspect.isclass(origin) and issubclass(origin, Sequence)):
        return f"list of {_plural(kind_of(parts[0]))}"
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Mapping):
        return "mapping"
    if inspect.isclass(annotation) and issubclass(annotation, Choice):
        return "plug-in, perhaps with settings"
    return "section" if inspect.isclass(annotation) and issubclass(annotation, BaseModel) else "value"


def _plural(kind: str) -> str:
    return {"text": "texts", "path": "paths", "section": "sections", "number": "numbers"}.get(
        kind, kind.replace("plug-in,", "plug-ins,")
    )


def _bounds(metadata: Sequence[Any]) -> str:
    words = {"ge": "from {}", "gt": "above {}", "le": "to {}", "lt": "below {}"}
    return " ".join(
        text.format(getattr(one, name))
        for one in metadata
        for name, text in words.items()
        if hasattr(one, name)
    )


def _metadata(field: FieldInfo) -> list[Any]:
    """Return the constraints of *field*, also those within ``X | None``."""
    found = list(field.metadata)
    for part in get_args(field.annotation):
        if get_origin(part) is Annotated:
            for one in get_args(part)[1:]:
                found += one.metadata if isinstance(one, FieldInfo) else [one]
    return found


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if (
        field.default_factory is not None
        or default is None
        or isinstance(default, BaseModel)
        or default == ()
    ):
        return ""
    if isinstance(default, bool):
        return _code(str(default).lower())
    if isinstance(default, tuple):
        return ", ".join(_code(getattr(one, "name", str(one))) for one in default)
    return _code(f"{default:,}" if isinstance(default, int) and default >= 10_000 else str(default))


def sections_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the sections in *annotation*, but for plug-ins, whose keys are their own."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [] if issubclass(annotation, Choice) else [annotation]
    return [section for part in get_args(annotation) for section in sections_in(part)]


def _rows(model: type[BaseModel], texts: Mapping[str, str], before: str = "") -> Iterator[list[str]]:
    """Yield a row for each key of *model* and of the sections in it that have no table of their own."""
    for name, field in model.model_fields.items():
        path = f"{before}{field.alias or name}"
        sections = sections_in(field.annotation)
        text = texts.get(name) or " ".join((inspect.getdoc(one) or "") for one in sections)
        kind = ", ".join(filter(None, [kind_of(field.annotation), _bounds(_metadata(field))]))
        yield [_code(path), kind, _default(field), _cell(text)]
        for section in sections:
            if not before or section not in OWN_TABLE:
                yield from _rows(section, described(section), f"{path}.")


HEAD = ("key", "value", "default", "meaning")
OWN_TABLE = [section for field in Scenario.model_fields.values() for section in sections_in(field.annotation)]


def scenario_page() -> str:
    """Return the page of all keys of a scenario, a table for each section."""
    top, sections = [], []
    further: dict[str, tuple[type[BaseModel], str]] = {
        "judges": (JudgeSection, "judges."),
        "policies": (HistorySection, "policies.NAME.history."),
    }
    groups: dict[str, list[list[str]]] = {}
    for row in _rows(Scenario, described(Scenario)):
        groups.setdefault(row[0].strip("`").partition(".")[0], []).append(row)
    for key, (first, *below) in groups.items():
        top.append(first)
        if key in further:
            model, before = further[key]
            below = list(_rows(model, described(model), before))
        if below:
            sections += [f"## {key}\n", f"{first[3]}\n", _table(HEAD, below)]
    lead = (
        "Every key that a scenario can have. `replay validate` names a key that isn't one of these, "
        "with its line. `path.below` is the key `below` in the section `path`; of a list, in each of its "
        "entries. The `settings` of plug-ins are on the page [Shipped plug-ins](shipped-plug-ins.md)."
    )
    return "\n".join(["# Scenario keys\n", f"{lead}\n", "## At the top\n", _table(HEAD, top), *sections])


# Plug-ins

_PROVIDED = ("folder", "detector", "price_table", "panel_name")


def plugins_page() -> str:
    """Return the page of all plug-ins that ship, with their settings."""
    parts = ["# Shipped plug-ins\n", "What a scenario can name without anything installed beside.\n"]
    for kind in KINDS:
        parts.append(f"## {kind.capitalize()}\n")
        for name, entry in available(kind).items():
            if entry.dist is None or entry.dist.name == "convreplay":
                parts += _plugin(kind, name, entry.value)
    return "\n".join(parts)


def _plugin(kind: Kind, name: str, target: str) -> Iterator[str]:
    module, _, attribute = target.partition(":")
    factory = getattr(importlib.import_module(module), attribute)
    # A function that builds a plug-in says how; what it builds is said by its module, but for scorers.
    says = factory if inspect.isclass(factory) or kind == "scorers" else importlib.import_module(module)
    text = re.sub(r"^Return the scorer ``\w+``: ", "", inspect.getdoc(says) or "")
    text = text[:1].upper() + text[1:]
    one = {"policies": "policy"}.get(kind, kind[:-1])
    yield f"### {name} ({one}) {{ #{kind}-{name} }}\n"
    yield f"{_first_paragraph(text)}\n"
    model = settings_model(factory, _PROVIDED)
    texts = described(factory) if inspect.isclass(factory) else _arguments(factory)
    if rows := list(_rows(model, texts)):
        yield _table(("setting", *HEAD[1:]), rows)


def _arguments(function: Any) -> dict[str, str]:
    """
    Return what the section ``Args`` of a function's docstring says of each argument.

    Of others, what the class that it returns says of an attribute of that name.
    """
    section = re.search(r"^Args:\n((?: .*\n?|\n)+)", inspect.getdoc(function) or "", re.MULTILINE)
    entries = re.findall(r"^    (\w+): (.*(?:\n      .*)*)", section[1] if section else "", re.MULTILINE)
    made = get_type_hints(function).get("return")
    return {**(described(made) if inspect.isclass(made) else {}), **dict(entries)}


# Python


def protocols_page() -> str:
    """Return the page of what each kind of plug-in has to have."""
    parts = ["# Plug-in protocols\n", "What an object of each kind must have. [Plug-ins](../plugins.md) has "
             "a small one of each kind, whole, with its tests.\n"]  # fmt: skip
    for title, names in PROTOCOLS.items():
        parts += [f"## {title}\n", *(f"::: {name}\n" for name in names)]
    return "\n".join(parts)


def _rank(exported: Any) -> int:
    """Return where *exported* stands on its page: functions first, errors last."""
    return 0 if not inspect.isclass(exported) else 1 + issubclass(exported, Exception)


def python_page() -> str:
    """Return the page of what ``replay`` and ``replay.testing`` export."""
    shown = {name for names in PROTOCOLS.values() for name in names}
    parts = ["# Python\n"]
    for module in (replay, replay.testing):
        parts.append(f"## {module.__name__}\n")
        for name in sorted(module.__all__, key=lambda name: (_rank(getattr(module, name)), name)):
            exported = getattr(module, name)
            home = f"{getattr(exported, '__module__', '')}.{getattr(exported, '__qualname__', '')}"
            if home.startswith("replay.") and home not in shown:
                parts.append(f"::: {home}\n")
    return "\n".join(parts)
