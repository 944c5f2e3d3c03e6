"""A verb whose help opens with examples, and whose complaint about an unknown option names those it has."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from replay.cli.verb_help import write_examples

_ALSO_CALLED = {
    "metric": "scorer",
    "metrics": "scorer",
    "model": "system",
    "models": "system",
    "output": "out",
    "file": "out",
    "input": "data",
    "dataset": "data",
    "processes": "workers",
    "jobs": "workers",
}
"""What other programs call options of ours."""


class Verb(TyperCommand):
    """A command whose help opens with examples, and whose complaint about an unknown option leads on."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, then the description."""
        write_examples(ctx.command_path, formatter)
        super().format_help_text(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """
        Parse *args* as the command does; add suggestions to the error about an unknown option.

        An option without a similar name gets its synonym, or else the list of all options.
        """
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # whose class is typer's own since 0.26 and click's before
            unknown = getattr(error, "option_name", None)
            if type(error).__name__ == "NoSuchOption" and not getattr(error, "possibilities", None):
                # Typer shows them behind its message.
                vars(error)["possibilities"] = self._meant(str(unknown))
            raise

    def _meant(self, unknown: str) -> list[str]:
        options = [name for parameter in self.params for name in parameter.opts if name.startswith("--")]
        other = f"--{_ALSO_CALLED.get(unknown.strip('-'), '')}"
        return [other] if other in options else options
