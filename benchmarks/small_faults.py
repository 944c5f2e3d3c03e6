"""
Small faults, each of which a test should notice: what can stand in an expression's or statement's place.

The operators are the usual ones of mutation testing (comparisons, arithmetic, logic, numbers, conditions,
returns, calls and raises that are left out). Texts are left alone, since most are messages.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.Break: ast.Continue, ast.Continue: ast.Break,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}


@dataclass(frozen=True, slots=True)
class Mutant:
    path: str
    scope: str
    """Its function or class, dotted; ``()`` after a function's name."""
    first_line: int
    last_line: int
    before: str
    after: str
    source: str
    """Of the whole file with the fault."""

    @property
    def key(self) -> str:
        """The same wherever its line moves."""
        return f"{self.path} | {self.scope} | {self.before} -> {self.after}"

    def __str__(self) -> str:
        return f"{self.path}:{self.first_line}: {self.before} -> {self.after}"


def faults(node: ast.AST) -> Iterator[ast.AST]:
    """What can stand in *node*'s place."""
    match node:
        case ast.Compare():
            for n, op in enumerate(node.ops):
                if type(op) in SWAPS:
                    mutant = copy.deepcopy(node)
                    mutant.ops[n] = SWAPS[type(op)]()  # type: ignore[call-overload]
                    yield mutant
        case ast.BoolOp() | ast.BinOp() | ast.AugAssign() if type(node.op) in SWAPS:
            mutant = copy.deepcopy(node)
            mutant.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
            yield mutant
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.If() | ast.While() if not isinstance(node.test, ast.Compare | ast.UnaryOp | ast.Constant):
            mutant = copy.deepcopy(node)
            mutant.test = ast.UnaryOp(ast.Not(), mutant.test)
            yield mutant
        case ast.comprehension(ifs=[_, *_]):
            mutant = copy.deepcopy(node)
            mutant.ifs = mutant.ifs[1:]
            yield mutant
        case ast.Return(value=ast.expr()) if not (
            isinstance(node.value, ast.Constant) and not node.value.value
        ):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise():
            yield ast.Pass()
        case ast.Break() | ast.Continue():
            yield SWAPS[type(node)]()
        case ast.Name(id=name) if name in NAMES:
            yield ast.Name(NAMES[name], ast.Load())


class Walk:
    """All mutants of a file: no faults in annotations, decorators, protocols or type checking."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.tree = ast.parse(source)
        self.found: list[Mutant] = []
        self._visit(self.tree, "", self.tree)

    def _visit(self, node: ast.AST, scope: str, statement: ast.AST) -> None:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
                continue
            for place, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(child, ast.AST):
                    self._child(node, name, place, child, scope, statement)

    def _child(
        self, parent: ast.AST, name: str, place: int | None, child: ast.AST, scope: str, statement: ast.AST
    ) -> None:
        if isinstance(child, ast.keyword) and child.arg == "strict":
            return  # zip's, which asserts and changes nothing
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            return
        if isinstance(child, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in child.bases):
            return
        if isinstance(child, ast.stmt):
            statement = child
        for fault in faults(child):
            self._put(parent, name, place, fault)
            lines = (statement.lineno, header_end(statement))  # type: ignore[attr-defined]
            shown = tuple(" ".join(ast.unparse(n).split("\n")[0].split())[:110] for n in (child, fault))
            self.found.append(Mutant(self.path, scope, *lines, *shown, ast.unparse(self.tree)))
            self._put(parent, name, place, child)
        if isinstance(child, ast.ClassDef):
            scope = f"{scope}.{child.name}".lstrip(".")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            scope = f"{scope}.{child.name}()".lstrip(".")
        elif isinstance(child, ast.arguments):  # defaults are read where the function is made
            scope = f"{scope.removesuffix('()')}(defaults)"
        self._visit(child, scope, statement)

    @staticmethod
    def _put(parent: ast.AST, name: str, place: int | None, node: ast.AST) -> None:
        if place is None:
            setattr(parent, name, node)
        else:
            getattr(parent, name)[place] = node
        ast.fix_missing_locations(parent)


def header_end(statement: ast.AST) -> int:
    """The last line of a statement without the block that it opens."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return max(statement.lineno, body[0].lineno - 1)  # type: ignore[attr-defined]
    return statement.end_lineno  # type: ignore[attr-defined, no-any-return]


def mutants_of(room: str) -> list[Mutant]:
    """All of a room, its training code left out."""
    paths = sorted(p for p in (ROOT / "replay" / room).rglob("*.py") if "training" not in p.parts)
    return [
        mutant
        for path in paths
        for mutant in Walk(path.relative_to(ROOT).as_posix(), path.read_text("utf-8")).found
    ]
