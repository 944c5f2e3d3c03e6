"""
A run in MLflow: its scenario as parameters, its numbers as metrics, its report and tables as artefacts.

MLflow draws one line for each of its runs, and its table shows a metric's last step. So each system under
each policy is a run of its own, nested in ours: there ``f1`` is the number over all depths and ``depth/f1``
has a step for each depth, which puts the curves of all policies into one chart.

Imports the package ``mlflow`` (extra ``mlflow``), so nothing else of ours imports this.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
from mlflow.data.code_dataset_source import CodeDatasetSource
from mlflow.data.meta_dataset import MetaDataset

from replay.results.run import Run
from replay.statistics.depth_table import DepthRow, DepthTable, GroupTable
from replay.statistics.run_numbers import Report
from replay.store.reader import RunReader
from replay.viewer.pages import write_report

RUN = "convreplay.run"
"""The tag by which a run is found again, wherever its folder lies by then."""
GROUP = "convreplay.group"
"""A tag of the runs that are nested in it here."""
TABLE = "depth_table.json"
COUNTS = ("turns", "failed", "unreached", "invalid_share", "edited_share", "latency_p50_s", "latency_p95_s")
"""What of a row is a metric beside its scores; the table has the rest."""


def log_run(run: Run | str | Path, *, resamples: int = 1000) -> str:
    """
    Log the run, or the run in a folder, in MLflow's current experiment, and return the id that it has there.

    A run that was logged there before is brought up to date: what hangs on its id stays, and the runs nested
    in it are made anew. Within ``mlflow.start_run()`` it is nested in that run. *resamples* bootstrap samples
    make the intervals; with 0 there are none.

    Raises:
        RunError: there is no such run.
        MlflowException: MLflow can't be reached, or refuses something.
    """
    run = run if isinstance(run, Run) else Run(run)
    report, scenario = run.report(resamples=resamples), run.scenario().scenario
    data = report.signatures["data"]
    source = CodeDatasetSource({"conversations": data})
    dataset = MetaDataset(source, name=scenario.name, digest=data.rpartition("sha256:")[2])
    signatures = {**report.signatures, **{name: one.signature for name, one in report.table.columns.items()}}
    with closing(RunReader(run.folder)) as store:
        tags = {
            RUN: f"{scenario.name} {store.required_fact('begun')}",
            "convreplay.version": store.required_fact("version"),
        }
    tags |= {f"signature.{_name(name)}": text for name, text in signatures.items()}
    known = next(_runs(f"tags.`{RUN}` = '{tags[RUN]}'"), None)
    with mlflow.start_run(
        run_id=known.info.run_id if known else None,
        run_name=run.folder.name,
        nested=mlflow.active_run() is not None,
    ) as logged:
        id: str = logged.info.run_id
        mlflow.set_tags({**tags, "convreplay.finished": run.state().finished})
        mlflow.log_input(dataset)
        _log_texts(run, report, is_new=known is None, resamples=resamples)
        # Points of a metric can't be replaced: what changed would stand beside what it was.
        for one in _runs(f"tags.`mlflow.parentRunId` = '{id}'"):
            if GROUP in one.data.tags:  # others are the user's
                mlflow.delete_run(one.info.run_id)
        for group in report.table.groups:
            _log_group(group, dataset)
        before = known.data.metrics if known else {}
        mlflow.log_metrics({key: value for key, value in _overall(report.table) if before.get(key) != value})
    return id


def _log_texts(run: Run, report: Report, *, is_new: bool, resamples: int) -> None:
    file = run.scenario()
    mlflow.log_params(dict(_flat(file.content)))
    mlflow.log_text(file.text, "scenario.yaml")
    table = report.table.to_frame()
    if is_new:
        mlflow.log_table(table, TABLE)
    else:  # to a table that is there log_table would add the rows once more
        mlflow.log_text(table.to_json(orient="split", index=False), TABLE)
    with TemporaryDirectory() as folder:
        write_report(run.folder, page := Path(folder) / "report.html", resamples=resamples)
        mlflow.log_artifact(str(page))


def _log_group(group: GroupTable, dataset: MetaDataset) -> None:
    """A nested run with the numbers of a system under a policy."""
    name = str(group.group)
    with mlflow.start_run(run_name=name, nested=True, tags={GROUP: name}):
        mlflow.log_params({"system": group.group.system, "policy": group.group.policy})
        mlflow.log_input(dataset)
        mlflow.log_metrics(_metrics(group.total))
        for row in group.depths:
            by_depth = {f"depth/{name}": value for name, value in _metrics(row).items()}
            mlflow.log_metrics(by_depth, step=row.depth)


def _overall(table: DepthTable) -> Iterator[tuple[str, float]]:
    """Yield the metrics, named by system and policy, that compare these within a run and between runs."""
    shown = ["failed", "invalid_share", *map(_name, table.columns)]
    for group in table.groups:
        total = _metrics(group.total)
        where = f"{_name(group.group.system)}/{_name(group.group.policy)}"
        yield from ((f"{name}/{where}", total[name]) for name in shown if name in total)


def _runs(filter_string: str) -> Iterator[Any]:
    yield from mlflow.search_runs(filter_string=filter_string, output_format="list")


def _metrics(row: DepthRow) -> dict[str, float]:
    """Return all numbers of *row* that there are, under names that MLflow allows."""
    found = {name: getattr(row, name) for name in COUNTS}
    for label, score in row.scores.items():
        name = _name(label)
        found |= {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
    return {name: value for name, value in found.items() if value is not None}


def _name(label: str) -> str:
    """
    Return *label*, which may hold a scorer's settings, as part of a key, of which MLflow takes 250
    characters.
    """
    name = re.sub(r"[^\w .-]", "_", label)
    short = hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return name if len(name) <= 80 else f"{name[:70]}-{short}"


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of a scenario as text, with the keys on the way; a list of plain values is one."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list) and any(isinstance(one, Mapping | list) for one in value):
        parts = enumerate(value)
    if not parts and path:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    for key, part in parts:
        yield from _flat(part, f"{path}.{_name(str(key))}" if path else _name(str(key)))
