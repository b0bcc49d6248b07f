"""The command line of `sshload`, as `--help` shows it."""

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from sshload_contract.allow_list import AllowedTarget, entry_problem

from sshload_operator.api.kinds import COMPARISON, TEST, Kind
from sshload_operator.api.spec import LOCUSTFILE, TRACE
from sshload_operator.cli.exit_code import ExitCode
from sshload_operator.local.config_map_files import option
from sshload_operator.local.credentials import Credentials
from sshload_operator.local.files import OwnFiles

_EXIT_CODES = """\
exit codes:
  0    Passed        every threshold was met, and the numbers can be trusted; of a comparison: Conclusive
  1    Failed        a threshold was broken
  2    Inconclusive  too few samples, or rounds, to say
  3    Invalid       the numbers cannot be trusted
  4    Error         it could not be measured, or a file is not valid
  5    Aborted       its end was asked for
  64                 the command line is wrong
  130                watching was ended by Ctrl-C; what was watched goes on
"""
_HOST_AND_PORT = re.compile(r"(?:\[(?P<bracketed>[^\[\]]+)\]|(?P<plain>[^:\[\]]+))(?::(?P<port>\d{1,5}))?")
_MAX_PORT = 65_535
VIA_OPTIONS = ("identity", "certificate", "passphrase-file", "password-file", "known-hosts")
"""The files of a jump host, as the options `--via-...` name them."""
FILE_OPTIONS = {LOCUSTFILE: "the locustfile", TRACE: "the trace of arrivals"}
"""The files that ConfigMaps hold in a cluster, and what they are."""


class _Parser(ArgumentParser):
    """Leaves the exit code 2 to Inconclusive."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}\n")


def command_line() -> ArgumentParser:
    """Return the parser. `command` is run, watch, compare, validate or trace; the rest is that command's."""
    parser = _parser(_Parser, prog="sshload", description="Find out how much SSH a server takes.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _fill_run(_parser(commands.add_parser, "run", help="run a test here, without a cluster"))
    _fill_watch(_parser(commands.add_parser, "watch", help="follow a test in a cluster to its end"))
    _fill_compare(_parser(commands.add_parser, "compare", help="follow a comparison in a cluster to its end"))
    _fill_validate(_parser(commands.add_parser, "validate", help="check files without running them"))
    _fill_trace(_parser(commands.add_parser, "trace", help="make a trace for load.replay from an sshd's log"))
    return parser


def allowed_target(text: str) -> AllowedTarget:
    """Return the external target that HOST, HOST:PORT or [ADDRESS]:PORT allows; raises ArgumentTypeError."""
    found = _HOST_AND_PORT.fullmatch(text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is not HOST, HOST:PORT or [ADDRESS]:PORT")
    port = found["port"]
    if port is not None and not 0 < int(port) <= _MAX_PORT:
        raise ArgumentTypeError(f"{port} is not a port")
    host = found["bracketed"] or found["plain"]
    problem = entry_problem(host)
    if problem:
        raise ArgumentTypeError(problem)
    return AllowedTarget(host=host, ports=() if port is None else (int(port),))


def host_and_file(text: str) -> tuple[str, Path]:
    """Return the two parts of HOST=FILE; raises ArgumentTypeError."""
    host, equals, file = text.partition("=")
    if not (host and equals and file):
        raise ArgumentTypeError(f"{text!r} is not HOST=FILE")
    return host, Path(file)


def _parser(make: Callable[..., ArgumentParser], *name: str, **settings: str) -> ArgumentParser:
    return make(*name, epilog=_EXIT_CODES, formatter_class=RawDescriptionHelpFormatter, **settings)


def _fill_run(run: ArgumentParser) -> None:
    run.description = "Run the SSHLoadTest of a file with processes of this machine. Ctrl-C aborts it."
    run.add_argument(
        "file", metavar="FILE", type=Path, help="a YAML file with an SSHLoadTest, or - for the standard input"
    )
    run.add_argument("--name", help="which test, where the file has several")
    _add_output(run)
    run.add_argument("--logs", metavar="DIR", type=Path, help="keep the processes' output and summary.json there")
    run.add_argument(
        "--baseline",
        metavar="FILE",
        type=Path,
        help="the baseline: what `sshload run -o json` printed of an earlier run",
    )
    external = run.add_argument_group("for a test of an external target, in place of Secrets and the allow-list")
    external.add_argument(
        "--allow-target",
        metavar="HOST[:PORT]",
        type=allowed_target,
        action="append",
        default=[],
        help="load may go to this host (a name, a pattern or a CIDR); repeatable",
    )
    external.add_argument("--identity", metavar="FILE", type=Path, help="the private key to log in with")
    external.add_argument("--certificate", metavar="FILE", type=Path, help="the certificate of that key")
    external.add_argument("--passphrase-file", metavar="FILE", type=Path, help="the passphrase of that key")
    external.add_argument("--password-file", metavar="FILE", type=Path, help="the password to log in with")
    external.add_argument("--known-hosts", metavar="FILE", type=Path, help="the host keys to accept, jump hosts' too")
    via = run.add_argument_group("for jump hosts: the same, each for the HOST that spec.via names; repeatable")
    for name in VIA_OPTIONS:
        via.add_argument(f"--via-{name}", metavar="HOST=FILE", type=host_and_file, action="append", default=[])
    for name, what in FILE_OPTIONS.items():
        run.add_argument(option(name), metavar="FILE", type=Path, help=f"{what}, if no ConfigMap in the file holds it")


def _fill_watch(watch: ArgumentParser) -> None:
    watch.description = "Follow an SSHLoadTest in a cluster until it is finished, and print its result."
    _add_followed(watch, TEST)


def _fill_compare(compare: ArgumentParser) -> None:
    compare.description = (
        "Follow an SSHLoadTestComparison in a cluster until it is finished, and print its variants side by side."
    )
    _add_followed(compare, COMPARISON)


def _fill_validate(validate: ArgumentParser) -> None:
    validate.description = "Check files of all our kinds, and name the field that is wrong."
    validate.add_argument(
        "files",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="a YAML or JSON file with objects of our kinds, a directory of such files, or - for the standard input",
    )


def _fill_trace(trace: ArgumentParser) -> None:
    trace.description = (
        "Make a trace of when connections came to an sshd, from its log. The trace has times only: no address, no user."
    )
    trace.add_argument(
        "files",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="auth.log, or what journalctl prints (-o short-iso-precise, -o json), or - for the standard input",
    )
    for name, what in (("since", "the trace begins"), ("until", "the trace ends")):
        trace.add_argument(f"--{name}", metavar="TIME", type=moment, help=f"when {what}, such as 2026-11-16T09:00")
    trace.add_argument("-o", "--out", metavar="FILE", type=Path, help="write the trace there, not to standard output")
    trace.add_argument("--config-map", metavar="NAME", help="write it as a ConfigMap of this name")


def moment(text: str) -> datetime:
    """Return the time that a text such as 2026-11-16T09:00 or 2026-11-16 09:00+01:00 says; raises ArgumentTypeError."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a time such as 2026-11-16T09:00") from None


def _add_followed(parser: ArgumentParser, kind: Kind) -> None:
    """Add which object is followed, where and for how long."""
    parser.add_argument("name", metavar="NAME", help=f"the name of the {kind.name}")
    parser.add_argument("-n", "--namespace", default="default", help="its namespace (default: %(default)s)")
    _add_output(parser)
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="give up after this long (default: never)")
    parser.add_argument("--kubeconfig", metavar="FILE", default="", help="default: KUBECONFIG, else ~/.kube/config")
    parser.add_argument("--context", default="", help="default: the kubeconfig's current one")


def _add_output(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json"),
        default="table",
        help="how to print the result (default: %(default)s)",
    )


def own_files(arguments: Namespace) -> OwnFiles:
    """Return the files that the arguments of `sshload run` name."""
    return OwnFiles(
        test=arguments.file,
        target=Credentials(**{_field(option): getattr(arguments, _field(option)) for option in VIA_OPTIONS}),
        via=_by_host(arguments),
        files={name: path for name in FILE_OPTIONS if (path := getattr(arguments, Path(name).stem)) is not None},
    )


def _by_host(arguments: Namespace) -> Mapping[str, Credentials]:
    found: dict[str, Credentials] = {}
    for name in VIA_OPTIONS:
        for host, file in getattr(arguments, f"via_{_field(name)}"):
            found[host] = replace(found.get(host, Credentials()), **{_field(name): file})
    return found


def _field(option: str) -> str:
    return option.replace("-", "_")
