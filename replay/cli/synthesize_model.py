"""``replay synthesize --llm``: conversations from documents by a model, or what they would cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from replay.cli.output import echo

if TYPE_CHECKING:
    from replay.core.asking.cached import Model
    from replay.synthesis.model.synthesize import ModelSettings, ModelSynthesis


def synthesize_by_model(
    documents: Sequence[Path],
    settings: ModelSettings,
    out: Path,
    *,
    llm: str,
    prices: Path | None,
    prompts: Path | None,
    dry_run: bool,
) -> None:
    """Make conversations with the model *llm* and write them and their card; with *dry_run*, say the cost."""
    import msgspec

    from replay.cli.judging import print_estimates
    from replay.core.errors import InputError, writing
    from replay.datasets.native import write_native
    from replay.synthesis.data_document import write_card
    from replay.synthesis.model.dialogues import PROMPTS, writer_prompts
    from replay.synthesis.model.synthesize import estimate_model_synthesis, synthesize_with_model

    model = _model(llm, prices)
    try:
        written = writer_prompts(prompts or PROMPTS)
    except ValueError as error:
        raise InputError(f"--prompts: {error}") from error
    if dry_run:
        estimate = estimate_model_synthesis(documents, settings, model=model, prompts=written)
        print_estimates("model", [estimate])
        return
    made = synthesize_with_model(documents, settings, model=model, prompts=written)
    for line in _report(made):
        echo(line, err=True)
    if not made.conversations:
        raise InputError("no conversation could be made; nothing was written")
    with writing(out):
        write_native(made.conversations, out)
    card = out.with_suffix(".card.md")
    write_card(
        card,
        made.conversations,
        made.rejected,
        {**msgspec.to_builtins(settings), "model": model.signature},
        sources=made.sources,
        signature=made.signature,
        unread=[str(error) for error in made.unread],
    )
    echo(f"wrote {out} and {card}")


def _model(llm: str, prices: Path | None) -> Model:
    from replay.core.asking.cached import build_model
    from replay.core.asking.costs import NO_PRICES, read_price_table
    from replay.scenario.reading import read_choices

    (choice,) = read_choices([llm], "--llm")
    table = read_price_table(prices) if prices else NO_PRICES
    return build_model(
        choice.name,
        choice.settings,
        folder=Path.cwd(),
        limit=None,
        prices=table.prices_of(choice.settings.get("model")),
    )


def _report(made: ModelSynthesis) -> list[str]:
    """Return what was asked, made and left out, a line each."""
    turns = sum(len(one.turns) for one in made.conversations)
    return [
        *(f"left out: {error}" for error in made.unread[:5]),
        f"{len(made.sources)} documents; {len(made.conversations)} conversations with {turns} turns "
        f"({made.signature})",
        *(f"not kept: {count} ({reason})" for reason, count in made.rejected.most_common()),
        *made.tally.sentences(),
    ]
