"""
Finding and building what can be plugged in: adapters, judges, readers, policies, resolvers, scorers,
users.

A plug-in is any callable that takes keyword settings and returns the object: a dataclass, a class or
a function. It is found by its entry-point name (groups ``replay.adapters``, ``replay.readers``, ...)
or, without packaging, as ``module:attribute`` or ``file.py:attribute``. Its settings are checked
against the callable's own annotations, so a plug-in needs no schema and no base class.

A parameter annotated ``Path`` is taken relative to the scenario's folder. A parameter whose name is
among the *provided* ones (``detector`` for policies, ``panel_name`` for judges, ``folder`` for all) is
filled in by us.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from typing import Any, Literal

from replay.core.errors import Fault, PluginError, PluginNotFoundError, ReplayError, ScenarioError
from replay.core.safety.consent import code_forbidden, require_code_allowed
from replay.core.settings.faults import faults_of, nearest
from replay.core.settings.in_memory import factory_of, is_in_memory, lookup_object
from replay.core.settings.plugin_bugs import describe_error, signature_of

if typing.TYPE_CHECKING:
    from pydantic import BaseModel

Kind = Literal["adapters", "judges", "readers", "policies", "resolvers", "rewriters", "scorers", "users"]
KINDS: tuple[Kind, ...] = typing.get_args(Kind)
Factory = Callable[..., Any]
T = typing.TypeVar("T")
NestedChoice = str | dict[str, dict[str, Any] | None]
"""How a plug-in is written as another one's setting: its name, or ``{name: {setting: value}}``."""


@cache
def available(kind: Kind) -> Mapping[str, EntryPoint]:
    """Return the installed plug-ins of one kind, by name, in alphabetical order."""
    found = sorted(_installed_plugins()[kind], key=lambda entry: entry.name)
    return {entry.name: entry for entry in found}


@cache
def _installed_plugins() -> Mapping[Kind, EntryPoints]:
    every = entry_points()  # looking for one kind would read those of all packages as well
    return {kind: every.select(group=f"replay.{kind}") for kind in KINDS}


def load(kind: Kind, name: str, folder: Path) -> Factory:
    """
    Return the factory called *name*.

    Args:
        kind: The kind of plug-in.
        name: An entry point, ``module:attribute`` or ``file.py:attribute``.
        folder: The folder that relative file names start from.

    Raises:
        PluginNotFoundError: nothing has that name.
        PluginError: the plug-in is there but importing it fails.
        CodeNotRunError: it is no entry point, and code must not run, as the scenario is only inspected
            (``core.safety.consent``).
    """
    if is_in_memory(name):
        return typing.cast(Factory, factory_of(lookup_object(name)))
    if ":" in name:
        with code_forbidden():
            return typing.cast(Factory, load_object(name, folder))
    entry = available(kind).get(name)
    if entry is None:
        known = ", ".join(available(kind)) or "none are installed"
        raise PluginNotFoundError(
            f'"{name}" is not a known {_singular(kind)}{nearest(name, available(kind))} (known: {known})'
        )
    try:
        return typing.cast(Factory, entry.load())
    except ImportError as error:
        raise PluginError(f'"{name}" ({entry.value}) can\'t be imported: {error}') from error


def _singular(kind: Kind) -> str:
    return kind.removesuffix("s") if kind != "policies" else "policy"


def load_object(target: str, folder: Path) -> Any:
    """
    Return the object that *target* names.

    Args:
        target: ``module:attribute``, ``file.py:attribute``, or the name that ``replay.run`` gave to an object
            of the program itself.
        folder: The folder that file names start from.

    Raises:
        PluginNotFoundError: there is no such module, file, attribute or object.
        PluginError: importing it fails.
        CodeNotRunError: code must not run, as the scenario is only inspected (``core.safety.consent``).
    """
    if is_in_memory(target):
        return lookup_object(target)
    require_code_allowed(target)
    place, _, attribute = target.rpartition(":")
    if place.endswith(".py"):
        module = _import_file((folder / place).resolve())
    else:
        try:
            module = importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is not None and place.startswith(error.name):
                raise PluginNotFoundError(f'there is no module "{place}" to import') from error
            raise PluginError(f'"{place}" can\'t be imported: {error}') from error
        except Exception as error:
            raise PluginError(f'"{place}" can\'t be imported: {describe_error(error)}') from error
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise PluginNotFoundError(f'"{place}" has no "{part}"{nearest(part, vars(module))}')
        found = getattr(found, part)
    return found


def _import_file(path: Path) -> Any:
    if not path.is_file():
        raise PluginNotFoundError(f'there is no file "{path}"')
    name = f"_replay_user_{path.stem}_{abs(hash(path)):x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look their module up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise PluginError(f'"{path}" can\'t be imported: {describe_error(error)}') from error
    return module


def misfit(made: object, protocol: type) -> str | None:
    """
    Return why *made* does not implement *protocol*, as the end of a sentence; None if it does.

    ``isinstance`` alone accepts a method in place of a property, and does not say what is missing.
    """
    if inspect.isclass(made):
        return f"{made.__name__} is a class; an object of it is needed"
    members = sorted(name for name in dir(protocol) if not name.startswith("_"))
    missing, wrong = [], []
    for name in members:
        try:
            value = getattr(made, name)
        except Exception as error:  # noqa: BLE001 - somebody else's property
            if isinstance(error, AttributeError) and not _defines(made, name):
                missing.append(name)
            else:
                wrong.append(f"its {name} can't be had: {describe_error(error)}")
            continue
        meant = inspect.getattr_static(protocol, name)
        is_property = isinstance(meant, property)
        if is_property and inspect.ismethod(value):
            wrong.append(f"its {name} is a method where a property is meant; put @property above it")
        elif name == "signature" and not isinstance(value, str):
            wrong.append(f"its signature is {value!r}, not a text")
        elif not is_property and not callable(value):
            wrong.append(f"its {name} is {value!r}, not a method")
        elif inspect.isasyncgenfunction(value) or (
            inspect.iscoroutinefunction(value) and not inspect.iscoroutinefunction(meant)
        ):
            mend = "put @asynccontextmanager above it" if name == "session" else "write it without async"
            wrong.append(f"its {name} is async; {mend}")
    lacks = [f"it lacks {', '.join(missing)}"] if missing else []
    return "; ".join([*lacks, *wrong]) or None


def _defines(made: object, name: str) -> bool:
    """Return whether *made* has *name*, if only as a property that fails."""
    missing = object()
    return inspect.getattr_static(made, name, missing) is not missing


def _parameters(factory: Factory) -> Mapping[str, inspect.Parameter]:
    if not callable(factory):
        raise PluginError(
            f"it is {factory!r:.60}, which can't be called; name the class or function that makes one"
        )
    try:
        parameters = signature_of(factory).parameters
    except (TypeError, ValueError) as error:
        raise PluginError(f"{factory!r} can't be called with settings: {error}") from error
    hidden = [name for name in parameters if name.startswith("_")]
    if hidden:
        raise PluginError(f"its parameter {hidden[0]} can't be a setting; let its name begin with a letter")
    return parameters


def _annotations(factory: Factory) -> dict[str, Any]:
    target, names = factory, None
    if inspect.isclass(factory):
        target = factory.__init__
        # A dataclass has its bases' fields too, whose annotations are written in the words of their modules.
        modules = [vars(sys.modules.get(base.__module__, typing)) for base in reversed(factory.__mro__)]
        names = {name: value for module in modules for name, value in module.items()}
    try:
        return typing.get_type_hints(target, localns=names, include_extras=True)
    except (NameError, TypeError) as error:
        raise PluginError(f"{factory!r} has an annotation that can't be read: {error}") from error


def settings_model(factory: Factory, provided: Iterable[str] = ()) -> type[BaseModel]:
    """Return a pydantic model of a factory's parameters, without those that we provide."""
    try:
        return _model_once(factory, frozenset(provided))
    except TypeError:  # a plug-in may be an object that has no hash
        return _model(factory, frozenset(provided))


def _model(factory: Factory, provided: frozenset[str]) -> type[BaseModel]:
    from pydantic import ConfigDict, create_model

    parameters, hints = _parameters(factory), _annotations(factory)
    fields: dict[str, Any] = {}
    extra: Literal["forbid", "allow"] = "forbid"
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = "allow"
        elif parameter.kind is not parameter.VAR_POSITIONAL and name not in provided:
            default = ... if parameter.default is parameter.empty else parameter.default
            # A dataclass field with a default factory shows a private marker as its default.
            if type(default).__name__ == "_HAS_DEFAULT_FACTORY_CLASS":
                from pydantic import Field

                default = Field(default_factory=_dataclass_factory(factory, name))
            fields[name] = (hints.get(name, Any), default)
    config = ConfigDict(extra=extra, arbitrary_types_allowed=True, protected_namespaces=())
    return create_model("Settings", __config__=config, **fields)


# A fifth of what it takes to check a scenario, whose parts name the same few plug-ins.
_model_once = lru_cache(maxsize=256)(_model)


def _dataclass_factory(factory: Factory, name: str) -> Callable[[], Any]:
    default_factory = factory.__dataclass_fields__[name].default_factory  # type: ignore[attr-defined]
    return typing.cast(Callable[[], Any], default_factory)


def build(
    factory: Factory,
    settings: Mapping[str, Any],
    *,
    provided: Mapping[str, Any] | None = None,
    folder: Path,
    key_path: str = "settings",
) -> Any:
    """
    Call *factory* with checked settings and return the result.

    Args:
        factory: The plug-in's factory.
        settings: The user's settings, checked against the factory's parameters.
        provided: Values of ours; passed on if the factory has a parameter of that name.
        folder: The folder that relative paths among the settings start from; it is a provided value too.
        key_path: The key of the settings in the scenario, for messages.

    Raises:
        ScenarioError: the settings don't fit; all faults at once, located below *key_path*.
        PluginError: it can't be called, or fails.
    """
    from pydantic import ValidationError

    provided = {**(provided or {}), "folder": folder}
    wanted = _parameters(factory)
    model = settings_model(factory, provided)
    try:
        checked = model.model_validate(dict(settings))
    except ValidationError as error:
        raise ScenarioError("settings", faults_of(error, model, settings, key_path)) from error
    # Only what was given is passed on, so that the factory's own defaults stay in charge.
    values = {name: getattr(checked, name) for name in checked.model_fields_set}
    values = {name: folder / v if isinstance(v, Path) else v for name, v in values.items()}
    values |= {name: value for name, value in provided.items() if name in wanted}
    try:
        with code_forbidden():
            return factory(**values)
    except ScenarioError as error:  # of a plug-in that this one is made with
        faults = [Fault(path=f"{key_path}.{f.path}", message=f.message) for f in error.faults]
        raise ScenarioError("settings", faults) from error
    except ValueError as error:
        raise ScenarioError("settings", [Fault(path=key_path, message=str(error))]) from error
    except ReplayError:
        raise
    except Exception as error:
        raise PluginError(
            f"making it fails: {describe_error(error)}; docs/plugins.md shows a whole one"
        ) from error


def make(
    kind: Kind,
    name: str,
    settings: Mapping[str, Any],
    protocol: type[T],
    *,
    folder: Path,
    key_path: str,
    provided: Mapping[str, Any] | None = None,
) -> T:
    """
    Return the object that the plug-in called *name* builds from *settings*.

    Args:
        kind: The kind of plug-in.
        name: Its registered name, or a target as of ``load_object``.
        settings: The settings to build it with.
        protocol: The protocol that the object must implement.
        folder: The folder that file names start from.
        key_path: The key of the settings in the scenario, for messages.
        provided: Arguments that are not settings, by parameter name, for factories that take them.

    Raises:
        PluginError: no plug-in has that name, it can't be imported or called, or the object it builds does
            not implement *protocol*.
        ScenarioError: the settings don't fit; all faults at once, located below *key_path*.
    """
    made = build(
        load(kind, name, folder), settings, folder=folder, key_path=key_path, provided=provided or {}
    )
    if why := misfit(made, protocol):
        raise PluginError(f'"{name}" gives no {_singular(kind)}: {why}; docs/plugins.md shows a whole one')
    return typing.cast(T, made)


def make_nested(kind: Kind, setting: NestedChoice, protocol: type[T], *, folder: Path, **provided: Any) -> T:
    """
    Return the plug-in that a setting of another plug-in chooses.

    Args:
        kind: The kind of plug-in; the setting's key is its singular.
        setting: A name, or a mapping from a name to settings.
        protocol: The protocol that the plug-in must implement.
        folder: The folder that relative file names start from.
        provided: Arguments that are not settings, by parameter name, for factories that take them.

    Raises:
        ScenarioError: it can't be built; faults are located below the setting.
    """
    key = kind.removesuffix("s")
    if isinstance(setting, str):
        name, settings = setting, None
    elif len(setting) == 1:
        ((name, settings),) = setting.items()
    else:
        raise _nested_fault(key, "a name, or {name: {setting: value}}, is expected here")
    try:
        key_path = f"{key}.{name}"
        return make(kind, name, settings or {}, protocol, folder=folder, key_path=key_path, provided=provided)
    except PluginError as error:
        raise _nested_fault(key, str(error)) from error


def _nested_fault(path: str, message: str) -> ScenarioError:
    return ScenarioError("settings", [Fault(path=path, message=message)])
