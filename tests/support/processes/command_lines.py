"""Command lines of `sshload`, taken apart without being run."""

from collections.abc import Mapping, Sequence

import click
from sshload_operator.cli.commands import sshload


def subcommands() -> Mapping[str, click.Command]:
    """Return all commands by name."""
    context = click.Context(sshload)
    return {name: command for name in sshload.list_commands(context) if (command := sshload.get_command(context, name))}


def parse(words: Sequence[str]) -> click.Context:
    """Return the command that these words call, with its options read; raises click.UsageError."""
    context = sshload.make_context("sshload", list(words), resilient_parsing=False)
    name, command, rest = sshload.resolve_command(context, [*context._protected_args, *context.args])
    if command is None:
        raise click.UsageError(f"there is no command {name}")
    return command.make_context(name, rest, parent=context)
