"""
A stranger reads the code: names are ordinary words of the field, and each names one thing.

What does not keep to that yet stands in ``words.toml`` beside this file, which may only shrink: a
name or a number there that is no longer needed fails too.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.laws.sources import ROOT, nodes

KEPT = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
PARTICIPLE = re.compile(
    r"[a-z]{2,}(?<!ne)(?<!fe)(?<!se)(?<!spe)ed|said|told|shown|found|given|kept|held|made|taken|begun|sent|drawn|written"
    r"|left|lost|built|known|seen|heard|spoken|gone|spelt|bound|broken|chosen|hidden|meant|forgotten"
)
RIDDLE = re.compile(
    r"(What|Whether|How|Who|Whose|Whom|Those|Which|Where|When|Why|As|The one that|That which)\b"
)


def words(name: str) -> list[str]:
    """Return the words of *name*, in lower case."""
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


Nodes = tuple[ast.AST, ...]


@cache
def files() -> dict[str, Nodes]:
    """Return the nodes of all files of the package."""
    paths = [path for room in ("replay", "adapters") for path in sorted((ROOT / room).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): nodes(path) for path in paths}


@cache
def definitions(file: Nodes) -> tuple[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    """Return all classes and functions in *file*, however deep."""
    return tuple(node for node in file if isinstance(node, (ast.ClassDef, *FUNCTIONS)))


def identifiers(file: Nodes) -> Iterator[str]:
    """Yield the names that *file* gives to something."""
    for node in file:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def is_participle(name: str) -> bool:
    """Return whether *name* is a participle and nothing else, as ``shown`` or ``_Held``."""
    return len(found := words(name)) == 1 and PARTICIPLE.fullmatch(found[0]) is not None


def opens_as_a_riddle(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether the docstring of *node* begins with a question's word instead of a verb."""
    return RIDDLE.match(ast.get_docstring(node) or "") is not None


@cache
def counted(file: Nodes) -> dict[str, int]:
    """Return how many functions of *file* are named by a participle, and how many docstrings are riddles."""
    functions = [node for node in definitions(file) if isinstance(node, FUNCTIONS)]
    return {
        "participles": sum(is_participle(node.name) for node in functions),
        "riddles": sum(opens_as_a_riddle(node) for node in functions),
    }


def test_what_counts_as_a_participle_and_as_a_riddle():
    assert [is_participle(name) for name in ("_Held", "shown", "checked", "need", "shown_value", "Feed")] == [
        *(True, True, True),
        *(False, False, False),
    ]
    tree = ast.parse('def a(): "Whether x."\ndef b(): "Return whether x."\nasync def said(): "Whatever x."')
    assert counted(tuple(ast.walk(tree))) == {"participles": 1, "riddles": 1}


@cache
def words_in_names() -> dict[str, set[str]]:
    """Return the words of all names that each file gives to something."""
    return {
        path: {word for name in set(identifiers(file)) for word in words(name)}
        for path, file in files().items()
    }


@pytest.mark.parametrize("word", sorted(KEPT["words"]))
def test_a_private_word_names_nothing(word):
    files = {path for path, found in words_in_names().items() if word in found}
    assert files == set(KEPT["words"][word].get("files", ())), f'"{word}": {KEPT["words"][word]["instead"]}'


def test_no_two_classes_share_a_name():
    homes = defaultdict(set)
    for path, file in files().items():
        for node in definitions(file):
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(path)
    shared = {name for name, paths in homes.items() if len(paths) > 1}
    assert shared == set(KEPT["class_names"]), "one name, one class; a name shared no more leaves words.toml"


def test_no_type_is_named_by_a_participle():
    named = {
        node.name
        for file in files().values()
        for node in definitions(file)
        if isinstance(node, ast.ClassDef) and is_participle(node.name)
    }
    assert named == set(KEPT["participle_types"]), "a type is a noun; what is renamed leaves words.toml"


@pytest.mark.parametrize("kind", ["participles", "riddles"])
def test_functions_are_verbs_and_their_docstrings_begin_with_one(kind):
    found = Counter({path: counted(file)[kind] for path, file in files().items()})
    kept = Counter(KEPT[kind])
    assert dict(+(found - kept)) == {}, "more than words.toml has: name the act, begin with a verb"
    assert dict(+(kept - found)) == {}, "fewer than words.toml has: lower its numbers"
