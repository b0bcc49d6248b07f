"""`sshload run`: runs a test with processes of this machine, and prints its result."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click
from sshload_contract.allow_list import AllowedTarget, AllowList, allowed_ports, host_refusal
from sshload_contract.wire.codec import to_json

from sshload_operator.api.kinds import API_VERSION, TEST
from sshload_operator.api.load_test import parse
from sshload_operator.api.load_test_file import Document, read_finished_test, read_load_tests
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.spec import LOCUSTFILE, TRACE
from sshload_operator.api.status.head import written
from sshload_operator.cli.exit_code import ExitCode, complain, exit_code, failed_on, not_kept
from sshload_operator.cli.options import FILE, NEW_FILE, Parsed, allowed_target, host_and_file, output, verbose
from sshload_operator.cli.view.formats import print_result
from sshload_operator.cli.view.progress import ProgressView, progress_view
from sshload_operator.cli.view.result import result_page, result_rows
from sshload_operator.local.config_map_files import option
from sshload_operator.local.credentials import Credentials
from sshload_operator.local.files import OwnFiles
from sshload_operator.local.run import LocalOptions, LocalResult, run_locally
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.planning.preflight import destinations
from sshload_operator.report.saved_run import saved_run_text
from sshload_operator.state import Reason
from sshload_operator.world.keys import KeysError

VIA_OPTIONS: Final = (
    *("identity", "certificate", "passphrase-file", "password-file", "keytab", "ticket-cache", "known-hosts"),
)
"""The files of a jump host, as the options `--via-...` name them."""

_FILE_OPTIONS: Final = {LOCUSTFILE: "The locustfile", TRACE: "The trace of arrivals"}
"""The files that ConfigMaps hold in a cluster, and what they are."""

_EXTERNAL: Final = (
    ("identity", "The private key to log in to an external target with."),
    ("certificate", "The certificate of that key."),
    ("passphrase-file", "The passphrase of that key."),
    ("password-file", "The password to log in with."),
    ("keytab", "The keytab to get Kerberos tickets with."),
    ("ticket-cache", "The Kerberos ticket cache to log in with, in place of a keytab."),
    ("totp-file", "The TOTP secret of the second factor, in base32."),
    ("known-hosts", "The host keys to accept, jump hosts' too."),
    ("token-file", "The bearer token for requests to a gateway."),
    ("ca-file", "The CA certificates to verify a gateway's certificate with."),
    ("users", "The users who log in to an external target, as CSV or YAML."),
    ("user-ca", "The private key that signs users' certificates (client.certificates)."),
    ("user-ca-passphrase-file", "The passphrase of that key."),
)

_OF_FILES: Final[Mapping[str, str]] = {
    Reason.CREDENTIALS_REJECTED: "here, files take the place of the Secret: correct the one that --identity,"
    " --password-file, --users, --token-file or --via-... names",
    Reason.HOST_KEY_MISMATCH: "here, the file that --known-hosts or --via-known-hosts names takes the place of the"
    " Secret: correct the key there",
}
"""What to change in the files of the command line, for reasons whose messages name Secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the command line gives to a local run, in place of Secrets, ConfigMaps and the allow-list."""

    file: Path
    name: str | None
    logs: Path | None
    baseline: Path | None
    allow_target: tuple[AllowedTarget, ...]
    others: Mapping[str, Any]

    def own_files(self) -> OwnFiles:
        """Return the files that are named in place of Secrets and ConfigMaps."""
        via: dict[str, Credentials] = {}
        for name in VIA_OPTIONS:
            for host, file in self.others[f"via_{_field(name)}"]:
                via[host] = replace(via.get(host, Credentials()), **{_field(name): file})
        files = {name: path for name in _FILE_OPTIONS if (path := self.others[Path(name).stem]) is not None}
        target = Credentials(**{_field(name): self.others[_field(name)] for name, _ in _EXTERNAL})
        return OwnFiles(test=self.file, target=target, via=via, files=files)


def local_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a local run; the command gets them as keyword arguments, of which `given` makes a value."""
    for name, what in reversed(_FILE_OPTIONS.items()):
        help_text = f"{what}, if no ConfigMap in the file holds it."
        function = click.option(option(name), metavar="FILE", type=FILE, help=help_text)(function)
    for name in reversed(VIA_OPTIONS):
        function = click.option(
            f"--via-{name}",
            metavar="HOST=FILE",
            type=Parsed("HOST=FILE", host_and_file),
            multiple=True,
            help="The same for the jump host of this name in spec.via; repeatable.",
        )(function)
    for name, what in reversed(_EXTERNAL):
        function = click.option(f"--{name}", metavar="FILE", type=FILE, help=what)(function)
    function = click.option(
        "--allow-target",
        metavar="HOST[:PORT]",
        type=Parsed("HOST[:PORT]", allowed_target),
        multiple=True,
        help="Allow load to this host (a name, a pattern or a CIDR); repeatable.",
    )(function)
    logs_help = "Keep the processes' output and summary.json in this directory."
    function = click.option("--logs", metavar="DIR", type=FILE, help=logs_help)(function)
    return click.option("--name", help="Which test, where the file has several.")(function)


def given(options: dict[str, Any]) -> Given:
    """Return what the command line gives to a local run."""
    own = {key: options.pop(key) for key in ("file", "name", "logs", "allow_target")}
    return Given(**own, baseline=options.pop("baseline", None), others=options)


@click.command()
@click.argument("file", type=FILE)
@local_options
@click.option(
    "--baseline", metavar="FILE", type=FILE, help="The baseline: what `sshload run -o json` printed of an earlier run."
)
@click.option(
    "--save",
    metavar="FILE",
    type=NEW_FILE,
    help="Write the test with all its measurements to this file, for `sshload report`.",
)
@output()
@verbose()
def command(output: str, verbose: bool, save: Path | None, **options: Any) -> ExitCode:  # noqa: FBT001 - click passes it by its name
    """Run the SSHLoadTest of FILE with processes of this machine; - is the standard input.

    Ctrl-C aborts it, and prints what was measured until then; a second Ctrl-C ends it at once.
    """
    asked = given(options)
    line = progress_view()
    try:
        document = only_test(asked.file, asked.name)
        result = run_locally(document, local_run_options(asked, line))
    except (SpecError, LocalRunError, KeysError, OSError) as error:
        line.close()
        return failed_on(asked.file, error)
    finally:
        line.close()
    if asked.logs is not None and result.summary is not None:
        keep(asked.logs / "summary.json", to_json(result.summary))
    if save is not None:
        keep(save, saved_run_text(finished_test(document, result), result.summary))
    page = result_page(document.name, result.status, verbose=verbose)
    print_result(output, finished_test(document, result), page, result_rows(result.status))
    if (advice := _advice_here(result.status.reason, document, asked)) is not None:
        complain(advice)
    return exit_code(result.status.verdict)


def _advice_here(reason: str | None, document: Document, asked: Given) -> str | None:
    """Return what to change on the command line, for a reason whose message describes a cluster."""
    if reason == Reason.TARGET_NOT_ALLOWED:
        return next((f"here, --allow-target {one} allows it" for one in _not_listed(document, asked)), None)
    own = asked.own_files()
    logs_in_by_files = own.target != Credentials() or own.via
    return _OF_FILES.get(reason) if reason and logs_in_by_files else None


def _not_listed(document: Document, asked: Given) -> Iterator[str]:
    """Yield each HOST:PORT of the test whose host no --allow-target names."""
    allow_list = AllowList(asked.allow_target, ())
    for one in destinations(parse(document.spec)):
        if host_refusal(allow_list, one.host, one.port) and not allowed_ports(allow_list, one.host):
            yield f"[{one.host}]:{one.port}" if ":" in one.host else f"{one.host}:{one.port}"


def finished_test(document: Document, result: LocalResult) -> Mapping[str, Any]:
    """Return the test with its status, as a cluster would have it."""
    return {
        "apiVersion": API_VERSION,
        "kind": TEST.name,
        "metadata": {"name": document.name, "namespace": document.namespace or "default"},
        "spec": document.spec,
        "status": written(result.status),
    }


def only_test(path: Path, name: str | None) -> Document:
    """Return the file's only test, or the one of this name; raises SpecError."""
    documents = read_load_tests(path)
    if name is None and len(documents) == 1:
        return documents[0]
    for document in documents:
        if document.name == name:
            return document
    known = ", ".join(document.name for document in documents)
    raise SpecError("metadata.name", f"choose one of {known} with --name")


def local_run_options(asked: Given, line: ProgressView) -> LocalOptions:
    """Return the options of a local run, which shows its progress on `line`."""
    if asked.logs is not None:
        asked.logs.mkdir(parents=True, exist_ok=True)
    return LocalOptions(
        own=asked.own_files(),
        allowed_targets=asked.allow_target,
        baseline=read_finished_test(asked.baseline) if asked.baseline is not None else None,
        logs=asked.logs,
        note=line.say,
        progress=line.stand,
        asks_target=line.shows_target,
    )


def keep(path: Path, text: str) -> None:
    """Write a file, or say why that failed, and go on: the result must still be printed."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        not_kept(path, error)


def _field(option_name: str) -> str:
    return option_name.replace("-", "_")
