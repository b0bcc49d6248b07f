"""A run whose iterations choose among alternatives, against a real server, with each client library."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

from client_kinds import MINA_SSHD, OPENSSH, SSH2_PYTHON, Kind, every_kind_usually
from reports import assert_reconciled
from run_configs import EXEC_TRUE, arrivals, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.steps import Alternative
from sshload_contract.vocabulary import RunEnd, Window
from whole_run import whole_run

LOOK, COPY, LAST = (replace(EXEC_TRUE, name=name) for name in ("look", "copy", "last"))
MIXED = replace(scenario(LOOK, COPY, LAST), alternatives=(Alternative(3, ("look",)), Alternative(1, ("copy",))))
ARRIVALS, WORKERS = 24, 2


def chosen() -> dict[str, int]:
    """Return how many iterations of all workers have each step."""
    shares = (islice(MIXED.choices(worker), ARRIVALS // WORKERS) for worker in range(WORKERS))
    return Counter(f"{step.name}.command" for share in shares for steps in share for step in steps)


@every_kind_usually(SSH2_PYTHON, OPENSSH, MINA_SSHD)
def test_each_iteration_does_the_alternative_that_was_chosen_for_it_and_each_step_is_counted_by_its_name(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, kind: Kind
) -> None:
    config = run_config(endpoint(start_sshd("")), arrivals(8, ARRIVALS / 8), workers=WORKERS)
    with whole_run(tmp_path, replace(config, scenario=MIXED, client=kind.client())) as run:
        summary = run.summary()
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert_reconciled(summary)
    counts = {one.step: one.count for one in summary.trial.steps if one.window is Window.MEASURED}
    commands = {step: count for step, count in counts.items() if step.endswith(".command")}
    assert counts["total"] == commands["last.command"] == ARRIVALS
    assert commands == chosen()
    assert commands["look.command"] > commands["copy.command"] > 0
