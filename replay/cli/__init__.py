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
from pathlib import Path
from typing import Annotated

import typer

import replay
from replay.clash import SENTENCE, is_ours
from replay.cli.agree import agree
from replay.cli.collect import collect
from replay.cli.compare import compare
from replay.cli.data import data
from replay.cli.drift import drift
from replay.cli.export import export
from replay.cli.init import init
from replay.cli.judge_file import judge_file
from replay.cli.near_misses import Verb
from replay.cli.output import echo
from replay.cli.plot import plot
from replay.cli.plugins import plugins
from replay.cli.report import report
from replay.cli.rerun import rerun
from replay.cli.resume import resume
from replay.cli.rewrite import rewrite
from replay.cli.run import run
from replay.cli.score import score
from replay.cli.score_file import score_file
from replay.cli.serve import serve
from replay.cli.signals import install_signal_handlers
from replay.cli.stress import stress
from replay.cli.study import study
from replay.cli.synthesize import synthesize
from replay.cli.validate import validate
from replay.cli.verb_help import VERB_HELP, PanelGroup
from replay.cli.view import view
from replay.core.errors import InputError, PluginError, ReplayError
from replay.core.safety.redaction import redact
from replay.core.settings.plugin_bugs import bug_behind
from replay.core.terminal import guard_streams
from replay.play.gc_pause import THRESHOLDS

app: typer.Typer = typer.Typer(
    name="replay",
    cls=PanelGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _verb in (
    init,
    validate,
    run,
    report,
    view,
    compare,
    stress,
    resume,
    rerun,
    score,
    plot,
    export,
    plugins,
    agree,
    score_file,
    judge_file,
    collect,
    drift,
    rewrite,
    synthesize,
    serve,
):
    _name = _verb.__name__.replace("_", "-")
    _help = VERB_HELP[_name]
    app.command(_name, cls=Verb, short_help=_help.summary, rich_help_panel=_help.panel)(_verb)
for _group in (data, study):
    _help = VERB_HELP[str(_group.info.name)]
    app.add_typer(_group, short_help=_help.summary, rich_help_panel=_help.panel)


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
