"""``replay score-file``: score answers in a table, without a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from replay.cli.arguments import FreshOption, JsonOption, PlanOption, PricesOption, TableOption
from replay.cli.output import echo, echo_json, open_console


def score_file(
    benchmark: Annotated[
        Path, typer.Option("--benchmark", metavar="FILE", help="Questions, gold answers, contexts.")
    ],
    responses: Annotated[Path, typer.Option("--responses", metavar="FILE", help="The answers to score.")],
    out: TableOption = None,
    join: Annotated[
        Literal["id", "question", "row"] | None,
        typer.Option("--join", help="Left out: by id if both files have one, by question, by row."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column", metavar="NAME", help="Only this score, as 'Rouge-L'; may be given several times."
        ),
    ] = None,
    bert_model: Annotated[
        str | None,
        typer.Option("--bert-model", metavar="NAME", help="For the Bert columns: a name or a folder."),
    ] = None,
    bert_layers: Annotated[
        int | None, typer.Option("--bert-layers", min=1, help="The layer to compare; the model's usual one.")
    ] = None,
    bert_rescale: Annotated[bool, typer.Option("--bert-rescale", help="With bert-score's baseline.")] = False,
    similarity_model: Annotated[
        str | None,
        typer.Option("--similarity-model", metavar="NAME", help="In place of an installed all-MiniLM-L6-v2."),
    ] = None,
    id: Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="The column with the id.")] = None,
    question: Annotated[
        str | None, typer.Option("--question", metavar="COLUMN", help="The column with the question.")
    ] = None,
    golden: Annotated[
        str | None, typer.Option("--golden", metavar="COLUMN", help="The column with the gold answer.")
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", metavar="COLUMN", help="The column with the gold context.")
    ] = None,
    candidate: Annotated[
        str | None, typer.Option("--candidate", metavar="COLUMN", help="The column with the answer to score.")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="JUDGE",
            help="Ask the judge claims for the LLM columns: '{claims: {adapter: openai, settings: {...}}}', "
            "or a YAML file with the same.",
        ),
    ] = None,
    prices: PricesOption = None,
    no_cache: FreshOption = False,
    dry_run: PlanOption = False,
    as_json: JsonOption = False,
) -> None:
    """
    Score answers in a table against gold answers in another, or in the same; write one with all scores.

    CSV, TSV, JSON Lines and XLSX can be read.
    """

    from replay.core.errors import InputError
    from replay.datasets.tables import check_can_write, read_table, write_table
    from replay.report.text import print_document
    from replay.tables.evaluation import Models, check_columns, evaluate, evaluation_document
    from replay.tables.joined_rows import Field, join as join_tables

    if out is None and not dry_run:
        raise InputError("--out FILE is missing: where the evaluation file goes")
    if out is not None:
        check_can_write(out)
    given: dict[Field, str | None] = {
        "id": id, "question": question, "golden": golden, "context": context, "candidate": candidate
    }  # fmt: skip
    joined = join_tables(
        read_table(benchmark),
        read_table(responses),
        by=join,
        columns={field: name for field, name in given.items() if name is not None},
    )
    asked = None
    if dry_run and judge is None:
        raise InputError("--dry-run says what a judge would take; name one with --judge")
    if judge is not None:
        from replay.cli.judging import ask_judges, show_estimates, written_panels
        from replay.tables.joined_rows import check_panel, row_cases
        from replay.tables.responses import estimate_cases

        check_columns(column or ())
        (panel,) = written_panels([judge], prices=prices, cache=not no_cache)
        check_panel(panel)
        if dry_run:
            show_estimates([estimate_cases(panel, row_cases(joined))], as_json=as_json)
            return
        (asked,) = ask_judges([panel], {panel.name: row_cases(joined)})
    assert out is not None
    evaluation = evaluate(
        joined,
        only=column or (),
        models=Models(
            bert=bert_model, bert_layers=bert_layers, bert_rescale=bert_rescale, similarity=similarity_model
        ),
        asked=asked,
    )
    write_table(out, evaluation.columns, evaluation.rows)
    if as_json:
        echo_json({"out": str(out), **evaluation.to_json()})
        return
    print_document(evaluation_document(evaluation), open_console())
    echo(f"wrote {out}")
