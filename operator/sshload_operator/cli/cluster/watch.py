"""`sshload watch`: a test in a cluster, followed to its end."""

from typing import Any

import click

from sshload_operator.cli.cluster.access import Access
from sshload_operator.cli.cluster.follow import TESTS, How, follow
from sshload_operator.cli.exit_code import ExitCode
from sshload_operator.cli.options import cluster_options, output, timeout, verbose


@click.command()
@click.argument("name")
@cluster_options
@timeout
@output()
@verbose()
def command(name: str, timeout: float | None, output: str, verbose: bool, **options: Any) -> ExitCode:  # noqa: FBT001
    """Follow the SSHLoadTest NAME in a cluster until it is finished, and print its result.

    Ctrl-C ends the watching, not the test.
    """
    return follow(TESTS, name, Access.taken_from(options), How(timeout_s=timeout, output=output, verbose=verbose))
