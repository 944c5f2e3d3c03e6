"""``replay rewrite``: a data set's questions, made independent of their context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli.arguments import FormatOption, LimitOption, LinesOption, SetOption, SkipBadOption
from replay.cli.output import echo

if TYPE_CHECKING:
    from replay.core.conversation import Conversation


def rewrite(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Data files, or glob patterns.")],
    format: FormatOption = None,
    setting: SetOption = None,
    resolver: Annotated[
        str,
        typer.Option(
            "--resolver", metavar="NAME", help="As in a scenario: embedded, or '{fastcoref: {...}}'."
        ),
    ] = "embedded",
    window: Annotated[
        int, typer.Option("--window", min=0, help="Exchanges before a question that are read.")
    ] = 6,
    background: Annotated[
        bool, typer.Option("--background/--no-background", help="Read title, section and background too.")
    ] = True,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            min=0.0,
            max=1.0,
            help="Edits less probable than this to make the question better are not made; 0.7 if left out.",
        ),
    ] = None,
    limit: LimitOption = None,
    skip_bad: SkipBadOption = False,
    native: Annotated[
        bool,
        typer.Option(
            "--native",
            help="Write the conversations in the native format, with missing standalone questions.",
        ),
    ] = False,
    out: LinesOption = None,
) -> None:
    """
    Rewrite a data set's questions so that they need no context, from its recorded answers.

    One JSON line for each question: how it was recorded, how it is rewritten, and what each of its
    mentions refers to. No system is asked anything.
    """
    from replay.cli.output import json_line, write_lines
    from replay.cli.settings import build_resolver, read_named
    from replay.coreference.reading.rewriting import MIN_PROBABILITY
    from replay.coreference.standalone import evidence, standalone_questions, with_standalone
    from replay.report.numbers import count_text

    made = build_resolver(resolver)
    questions = rewritten = 0
    not_judged: Counter[str] = Counter()
    skipped: list[Exception] = []
    conversations = read_named(files, format, setting, skipped if skip_bad else None, limit)

    def lines() -> Iterator[bytes]:
        nonlocal questions, rewritten
        for conversation in conversations:
            found = standalone_questions(
                conversation,
                made,
                window=window,
                background=background,
                min_probability=MIN_PROBABILITY if threshold is None else threshold,
            )
            questions += len(found)
            rewritten += sum(one.rewritten != one.question for one in found)
            not_judged.update(one.not_judged for one in found if one.not_judged)
            if native:
                yield _native(with_standalone(conversation, found))
            else:
                for one in found:
                    yield json_line(evidence(conversation, one))

    write_lines(lines(), out)
    for error in skipped:
        echo(f"skipped: {error}", err=True)
    echo(f"{count_text(questions, 'question')}, {rewritten:,} rewritten with {made.signature}", err=True)
    for reason, count in not_judged.most_common():
        echo(f"{count} left as they are: {reason}", err=True)


def _native(conversation: Conversation) -> bytes:
    from replay.core.errors import InputError
    from replay.datasets.native import native_line

    try:
        return native_line(conversation)
    except (TypeError, ValueError) as error:
        raise InputError(
            f'conversation "{conversation.id}" can\'t be written in the native format: {error}'
        ) from error
