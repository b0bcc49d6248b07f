"""The command `sshload`. Subcommands are imported when they are called: most take longer to import than to print help.

Results go to standard output, everything else to standard error. The exit code is the verdict's (`exit_code.py`).
"""

import os
import sys
from contextlib import redirect_stderr
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Final, NoReturn, TextIO, cast

import click
from click.shell_completion import ShellComplete, get_completion_class

from sshload_operator.cli.exit_code import ExitCode, failed
from sshload_operator.cli.streams import Lasting, let_go, open_closed

_NO_FILES = 4
"""Cobra's directive NoFileComp, for kubectl: complete with these words, and not with file names."""

_SHELLS: Final = ("bash", "zsh", "fish")
_COMPLETION: Final = """Print the script that completes commands in a shell.

\b
bash:  source <(sshload completion bash)
zsh:   source <(sshload completion zsh)
fish:  sshload completion fish | source
"""

_EXIT_CODES: Final = """\b
Exit codes:
  0    Passed        every threshold was met, and the numbers can be trusted;
                     of a comparison: Conclusive; or all went well
  1    Failed        a threshold was broken
  2    Inconclusive  too few samples or rounds to decide
  3    Invalid       the numbers cannot be trusted
  4    Error         it could not be measured, a file is not valid, or sshload itself failed
  5    Aborted       somebody ended it
  64                 the command line is wrong
  130                watching was ended by Ctrl-C; what was watched goes on
  141                the reader of the output closed it early
"""

_TRACEBACK: Final = "SSHLOAD_TRACEBACK"
"""The environment variable that makes an unforeseen error print its traceback."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """The module of a command, below this package, and its description in the list of commands."""

    module: str
    does: str
    name: str = "command"


_COMMANDS: Final = {
    "run": _Entry("run", "Run a test here, without a cluster"),
    "validate": _Entry("validate", "Check files without running them"),
    "watch": _Entry("cluster.follow", "Follow a test in a cluster to its end", "watch"),
    "compare": _Entry("compare", "Compare variants, in a cluster or here in turns"),
    "sweep": _Entry("sweep", "Run a test here at each value of one field"),
    "apply": _Entry("cluster.apply", "Apply the objects of a file to a cluster, and wait for their verdicts"),
    "list": _Entry("cluster.manage", "List the tests, schedules and comparisons of a cluster", "list_command"),
    "abort": _Entry("cluster.manage", "End the run of a test in a cluster", "abort"),
    "rerun": _Entry("cluster.manage", "Run a test in a cluster again", "rerun"),
    "report": _Entry("report", "Write a report of a finished test: a page, JSON or Markdown"),
    "advise": _Entry("advise", "Say what to change in sshd_config after a result"),
    "trace": _Entry("record.command", "Make a trace for load.replay from an sshd's log"),
}


class _Commands(click.Group):
    """The commands by name. Their list is declared, so that showing it imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in the order of the help."""
        del ctx
        return [*_COMMANDS, completion.name or ""]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None where there is none of that name."""
        del ctx
        if cmd_name == completion.name:
            return completion
        entry = _COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(f"{__package__}.{entry.module}"), entry.name)
        command.epilog = _EXIT_CODES
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called; raises UsageError, which names the nearest one."""
        nearest = get_close_matches(args[0], self.list_commands(ctx), n=1)
        if self.get_command(ctx, args[0]) is None and nearest and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]}: did you mean {nearest[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        del ctx
        with formatter.section("Commands"):
            rows = [(name, entry.does) for name, entry in _COMMANDS.items()]
            formatter.write_dl([*rows, (completion.name or "", completion.get_short_help_str())])


@click.group(cls=_Commands, epilog=_EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sshload", message="sshload %(version)s")
def sshload() -> None:
    """Find out how much SSH a server can take."""


@click.command("completion", epilog=_EXIT_CODES, help=_COMPLETION)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the shell script that completes the commands."""
    program = (context.find_root().info_name or "sshload").replace(" ", "-")
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    found = get_completion_class(shell)
    if found is not None:
        click.echo(found(sshload, {}, program, variable).source())


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    _run("sshload")


def kubectl_plugin() -> NoReturn:
    """Do the same as `main`, as the kubectl plugin `kubectl sshload`."""
    _run("kubectl sshload")


def kubectl_completion() -> None:
    """Print the completions of `kubectl sshload`: kubectl calls `kubectl_complete-sshload` for them."""
    *before, incomplete = sys.argv[1:] or [""]
    for item in ShellComplete(sshload, {}, "kubectl sshload", "").get_completions(before, incomplete):
        click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    click.echo(f":{_NO_FILES}")


def _run(program: str) -> NoReturn:
    open_closed()
    with redirect_stderr(cast("TextIO", Lasting(sys.stderr))):
        try:
            code = _code(program)
            sys.stdout.flush()
        except OSError as error:
            code = _not_written(error)
    for stream in (sys.stdout, sys.stderr):
        let_go(stream)
    sys.exit(code)


def _code(program: str) -> int:
    """Run the command line and return its code. It is Failed's only if a threshold was broken; raises OSError."""
    streams = sys.stdout, sys.stderr
    try:
        return sshload.main(prog_name=program, complete_var=_complete_var(program), standalone_mode=False) or 0
    except SystemExit:
        if sys.stdout is streams[0]:
            raise
        sys.stdout, sys.stderr = streams  # click replaces them if a pipe is closed, and would exit with 1
        return ExitCode.PIPE_CLOSED
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - the edge: Python's own code for it is that of Failed
        return _unforeseen(error)


def _not_written(error: OSError) -> int:
    """Return the code for output that failed, and say why, unless the reader closed it early."""
    if isinstance(error, BrokenPipeError):
        return ExitCode.PIPE_CLOSED
    if os.environ.get(_TRACEBACK):
        return _unforeseen(error)
    return failed(f"{error.filename or 'the output'}: {error.strerror or error}. Not all of it was read or written")


def _unforeseen(error: Exception) -> int:
    if os.environ.get(_TRACEBACK):
        sys.excepthook(type(error), error, error.__traceback__)
    return failed(
        f"an error of sshload itself: {type(error).__name__}: {error}. "
        f"Please report it, with what {_TRACEBACK}=1 in the environment prints"
    )


def _complete_var(program: str) -> str:
    return f"_{program.replace(' ', '_').upper()}_COMPLETE"
