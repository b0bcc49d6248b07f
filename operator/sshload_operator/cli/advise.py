"""`sshload advise`: what a result says to change on the server."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sshload_operator.api.kinds import TEST
from sshload_operator.api.load_test_file import read_finished_test
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.cli.exit_code import ExitCode, failed, failed_on
from sshload_operator.cli.options import FILE, cluster_options
from sshload_operator.cli.view.advice import advice_page
from sshload_operator.cli.view.formats import print_result


@click.command()
@click.argument("name", required=False)
@click.option("-f", "--filename", metavar="FILE", type=FILE, help="What `sshload run -o json` printed.")
@cluster_options
def command(name: str | None, filename: Path | None, **options: Any) -> ExitCode:
    """Say what to change in sshd_config after a result: that of the SSHLoadTest NAME in a cluster, or of FILE."""
    if (name is None) == (filename is None):
        raise click.UsageError("name a test of a cluster, or give a file with -f")
    try:
        test = read_finished_test(filename) if filename is not None else _of_cluster(name or "", options)
    except OSError as error:
        return failed_on(filename or Path(), error)
    except (SpecError, LookupError) as error:
        return failed(str(error))
    status = read_fitting(TestStatus, test.get("status"))
    print_result("table", test, advice_page(test["metadata"]["name"], status), ())
    return ExitCode.PASSED


def _of_cluster(name: str, options: dict[str, Any]) -> Mapping[str, Any]:
    """Return a test of a cluster; raises LookupError."""
    # The API client takes half a second to import, and a file has no need of it.
    from sshload_operator.cli.cluster.access import Access, ClusterError, opened  # noqa: PLC0415
    from sshload_operator.cli.cluster.follow import read_object  # noqa: PLC0415
    from sshload_operator.control.api_server.errors import ApiError  # noqa: PLC0415

    async def asked() -> Mapping[str, Any]:
        async with opened(Access.taken_from(options)) as (cluster, namespace):
            return await read_object(cluster, TEST, namespace, name)

    try:
        return asyncio.run(asked())
    except (ClusterError, ApiError) as error:
        raise LookupError(str(error)) from error
