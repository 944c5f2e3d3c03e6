"""``replay synthesize``: conversations made from documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replay.cli.output import echo

if TYPE_CHECKING:
    from replay.core.adapter import Adapter
    from replay.synthesis.synthesis_settings import Shares
    from replay.synthesis.synthesize import Synthesis


_SHARE_MISSED = 0.05
_MOST_NAMED = 5
"""Files that can't be used, as far as they are listed."""


def synthesize(
    documents: Annotated[
        list[Path],
        typer.Argument(metavar="DOCS", help="Files, folders and patterns of Markdown, HTML, PDF, ..."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the conversations.")
    ] = Path("conversations.jsonl"),
    conversations: Annotated[int, typer.Option("--conversations", "-n", min=1, help="How many.")] = 50,
    turns: Annotated[int, typer.Option("--turns", min=1, help="Questions of each.")] = 8,
    seed: Annotated[
        int, typer.Option("--seed", help="Equal seeds and documents give equal conversations.")
    ] = 0,
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="Shares of question kinds: support, quac or ikat.")
    ] = "support",
    share: Annotated[
        list[str] | None,
        typer.Option(
            "--share",
            metavar="KIND=SHARE",
            help="Of anaphora, ellipsis, unanswerable, shift or yes_no, from 0 to 1; may be given again.",
        ),
    ] = None,
    found_by: Annotated[
        str,
        typer.Option(
            "--found-by",
            metavar="ADAPTER",
            help="Ask only what this system answers from a passage: extractive, '{openai: {...}}', or none.",
        ),
    ] = "extractive",
    resolver: Annotated[
        str,
        typer.Option(
            "--resolver",
            metavar="NAME",
            help="Marks what it finds of what questions lean on; none marks nothing.",
        ),
    ] = "embedded",
    largest_mb: Annotated[float, typer.Option("--largest-mb", min=0, help="Larger files are left out.")] = 20,
    drift_probe: Annotated[
        Path | None,
        typer.Option(
            "--drift-probe",
            metavar="FILE",
            help="Also write dialogues with right and wrong answers whose drift is known, from tables; "
            "a .jsonl file to be replayed, with .answers.json.",
        ),
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            "--llm",
            metavar="ADAPTER",
            help="Have a model write the questions: '{openai: {model: ..., base_url: ...}}'.",
        ),
    ] = None,
    method: Annotated[
        Literal["student", "inpainting"],
        typer.Option(
            "--method",
            help="With --llm: a student asks a teacher, who quotes; or questions are put to sentences.",
        ),
    ] = "student",
    prompts: Annotated[
        Path | None,
        typer.Option(
            "--prompts", metavar="FOLDER", help="With --llm: student.txt, teacher.txt, inpainting.txt."
        ),
    ] = None,
    prices: Annotated[
        Path | None, typer.Option("--prices", metavar="FILE", help="With --llm: a table of prices.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --llm: say what it would ask and cost; ask nothing.")
    ] = False,
) -> None:
    """
    Make conversations from documents: questions, standalone forms, answers with their passages.

    No model is asked without --llm. The questions come from the grammar of the sentences, and lean on each
    other by pronouns and by what they leave out, so that what each refers to is known.
    """
    import msgspec

    from replay.cli.settings import build_resolver
    from replay.core.errors import writing
    from replay.datasets.native import write_native
    from replay.synthesis.data_document import write_card
    from replay.synthesis.synthesis_settings import SynthesisSettings
    from replay.synthesis.synthesize import synthesize as make

    shares = _shares(preset, share or [])
    if llm is not None:
        from replay.cli.synthesize_model import synthesize_by_model
        from replay.synthesis.model.synthesize import ModelSettings

        asked_for = ModelSettings(
            conversations=conversations, turns=turns, method=method, seed=seed, shares=shares,
            largest_mb=largest_mb,
        )  # fmt: skip
        synthesize_by_model(
            documents, asked_for, out, llm=llm, prices=prices, prompts=prompts, dry_run=dry_run
        )
        return
    if dry_run:
        raise typer.BadParameter(
            "it goes with --llm; without a model nothing costs anything", param_hint="--dry-run"
        )
    settings = SynthesisSettings(
        conversations=conversations, turns=turns, seed=seed, shares=shares, largest_mb=largest_mb
    )
    made = make(
        documents,
        settings,
        system=_system(found_by),
        resolver=None if resolver == "none" else build_resolver(resolver),
    )
    with writing(out):
        write_native(made.conversations, out)
    card = out.with_suffix(".card.md")
    write_card(
        card, made.conversations, made.rejected, msgspec.to_builtins(settings) | {"found_by": found_by},
        sources=made.sources, signature=made.signature, references=made.references,
        unread=[str(error) for error in made.unread],
    )  # fmt: skip
    for line in _report(made, shares):
        echo(line, err=True)
    echo(f"wrote {out} and {card}")
    if drift_probe is not None:
        _write_probe(made, drift_probe, seed)


def _write_probe(made: Synthesis, path: Path, seed: int) -> None:
    import json
    import random

    from replay.core.errors import InputError, writing
    from replay.datasets.native import write_native
    from replay.synthesis.probe import drift_probe, probe_answers, probe_conversations

    dialogues = list(drift_probe(made.areas, random.Random(seed)))
    if not dialogues:
        raise InputError(
            "--drift-probe: no table of these documents names its rows as parameters, options or the like "
            "and has two more columns; leave the option out"
        )
    with writing(path):
        if path.suffix == ".jsonl":
            write_native(probe_conversations(dialogues), path)
            answers = json.dumps(probe_answers(dialogues), ensure_ascii=False, indent=1)
            path.with_suffix(".answers.json").write_text(answers + "\n", "utf-8")
        else:
            path.write_text(json.dumps(dialogues, ensure_ascii=False, indent=1) + "\n", "utf-8")
    judged = sum(len(one["turns"]) - 1 for one in dialogues)
    echo(f"{path}: {len(dialogues)} dialogues, {judged} questions of known drift")


def _shares(preset: str, given: list[str]) -> Shares:
    from replay.core.errors import InputError
    from replay.synthesis.synthesis_settings import shares_of

    values: dict[str, float] = {}
    for one in given:
        name, _, number = one.partition("=")
        try:
            values[name] = float(number)
        except ValueError:
            raise InputError(f"--share {one}: {number!r} is no number from 0 to 1") from None
    try:
        return shares_of(preset, values)
    except ValueError as error:
        raise InputError(f"--preset, --share: {error}") from error


def _system(text: str) -> Adapter | None:
    from replay.core.adapter import Adapter
    from replay.core.settings.plugins import make_nested
    from replay.scenario.reading import read_choices

    if text == "none":
        return None
    (choice,) = read_choices([text], "--found-by")
    return make_nested("adapters", {choice.name: dict(choice.settings)}, Adapter, folder=Path.cwd())  # type: ignore[type-abstract]


def _report(made: Synthesis, shares: Shares) -> list[str]:
    """Return what was read, made, left out and reached, a line each."""
    lines = [f"left out: {error}" for error in made.unread[:_MOST_NAMED]]
    if (more := len(made.unread) - _MOST_NAMED) > 0:
        lines.append(f"and {more} more files; the card names them")
    turns = sum(len(one.turns) for one in made.conversations)
    lines.append(
        f"{len(made.sources)} documents, {made.sections} sections, {made.questions} questions that they "
        f"answer; {len(made.conversations)} conversations with {turns} of them ({made.signature})"
    )
    lines += [f"not asked: {count} ({reason})" for reason, count in made.rejected.most_common()]
    for name, share in made.reached.items():
        wanted = getattr(shares, name)
        if abs(share - wanted) > _SHARE_MISSED:
            lines.append(f"{name}: {share:.0%}, and {wanted:.0%} are asked for; the documents carry no other")
    found = sum(count for name, count in made.references.items() if not name.endswith("not found"))
    if made.references:
        lines.append(
            f"the resolver finds what is meant in {found} of {made.references.total()} questions that lean"
        )
    return lines
