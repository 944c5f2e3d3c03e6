"""
The command line: one small file per verb.

Exit codes: 0 fine, 1 a run or a resolver failed, 2 bad usage or input, 100 something that the scenario
asserts does not hold, 130 interrupted (a program that could only be killed has 137, as a shell counts).
"""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import replay
from replay.clash import SENTENCE, is_ours
from replay.cli.output import echo
from replay.cli.signals import install_signal_handlers
from replay.cli.verb_help import VERB_HELP, PanelGroup, Verb
from replay.core.errors import InputError, PluginError, ReplayError
from replay.core.safety.redaction import redact
from replay.core.settings.plugin_bugs import bug_behind
from replay.core.terminal import guard_streams
from replay.play.gc_pause import THRESHOLDS

_CONTEXT = {"help_option_names": ["-h", "--help"]}


class _Verbs(PanelGroup):
    """All verbs of ``VERB_HELP``; a verb's file is imported when the verb is called."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.commands: dict[str, Any] = {name: None for name in VERB_HELP if " " not in name}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the verb *cmd_name*; None if there is none."""
        if cmd_name not in self.commands or self.commands[cmd_name] is not None:
            return self.commands.get(cmd_name)
        file = cmd_name.replace("-", "_")
        verb = getattr(import_module(f"replay.cli.{file}"), file)
        if isinstance(verb, typer.Typer):
            command: Any = typer.main.get_group(verb)
        else:
            alone = typer.Typer(rich_markup_mode=None, context_settings=_CONTEXT, add_completion=False)
            alone.command(cmd_name, cls=Verb)(verb)
            command = typer.main.get_command(alone)
        command.name = cmd_name
        self.commands[cmd_name] = command
        return command


app: typer.Typer = typer.Typer(
    name="replay",
    cls=_Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_CONTEXT,
)


@app.callback(invoke_without_command=True)
def _about(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and leave."),
    log_level: Annotated[
        str | None,
        typer.Option(
            "--log-level",
            metavar="LEVEL",
            help="debug, info, warning or error; left out, warning, or info with --log-file.",
        ),
    ] = None,
    log_file: Annotated[
        Path | None,
        typer.Option("--log-file", metavar="FILE", help="Write the log to the end of FILE, as JSON lines."),
    ] = None,
) -> None:
    """Replay conversations against a chat system and score every turn by depth."""
    if version:
        echo(f"convreplay {replay.__version__}")
        raise typer.Exit
    from replay.core.logs import log_to

    log_to(log_file, log_level)


def main() -> None:
    """Run the program ``replay``, which has its process to itself."""
    gc.set_threshold(*THRESHOLDS)  # what is imported is no garbage: to look for some took a tenth of the time
    install_signal_handlers()
    run_cli()


def run_cli() -> None:
    """Run the command in ``sys.argv``. An error of ours ends as one message, never as a traceback."""
    guard_streams()
    if not is_ours(replay):
        echo(SENTENCE, err=True)
        sys.exit(2)
    try:
        try:
            app(prog_name="replay")
        finally:
            sys.stdout.flush()  # or it would fail where nobody can say so any more
    except (InputError, PluginError) as error:
        sys.exit(_say(error, code=2))
    except ReplayError as error:
        sys.exit(_say(error, code=1))
    except BrokenPipeError:
        # Whoever read our output went away (`replay export ... | head`); nothing is wrong with that.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EIO):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        where = f'"{error.filename}"' if error.filename else "what was to be written, or standard output,"
        sys.exit(_say(ReplayError(f"{where} can't be written: {error.strerror}"), code=1))


def _say(error: ReplayError, *, code: int) -> int:
    bug = bug_behind(error)
    frames = "" if bug is None else "".join(traceback.format_exception(bug))
    # Further lines are indented, so that no text in the message can pose for a message of its own.
    message = re.sub(r"\n(?! )", "\n  ", str(error))
    echo(*redact(f"{frames}{message}").split("\n"), err=True)
    return code
