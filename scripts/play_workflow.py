"""Play the steps of .github/workflows/make.yml on a Debian made from packages, in a container as a runner makes one.

play_workflow.py ROOT VERB [PODMAN_OPTION...]

ROOT is what debootstrap made, and stays as it is. VERB is the workflow's. The last commit is what is tested. Options
are what the machine needs, such as --volume and --env for its authorities of TLS. Needs podman and root. Steps that are
actions are named and left out; a clone that belongs to another user stands for the checkout. The exit code is that of
the first step that failed.
"""

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
WORKFLOW = REPOSITORY / ".github/workflows/make.yml"
HOME, SOURCES = "/github/home", "/__w/sshload/sshload"
RUNNER = 1001
"""The user to whom a clone belongs on GitHub's machines; in containers all is done by root."""


def script(steps: Iterable[Mapping[str, Any]]) -> str:
    """Return what a shell runs: each step as GitHub's bash does, the last ones even if one failed before them."""
    lines = ["status=0"]
    for step in steps:
        said = f"echo {shlex.quote('--- ' + step.get('name', step.get('uses')))}"
        if "uses" in step:
            lines.append(f"{said} is left out")
            continue
        condition = "true" if step.get("if") == "always()" else "[ $status -eq 0 ]"
        run = shlex.join(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]])
        lines.append(f"if {condition}; then {said}; {run} || status=${{status/#0/$?}}; fi")
    return "\n".join([*lines, "exit $status", ""])


def main(root: str, verb: str, options: list[str]) -> int:
    """Play the workflow; return the exit code."""
    job = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["make"]
    environment = {name: value for name, value in job["env"].items() if "${{" not in value}
    environment |= {"VERB": verb, "HOME": HOME, "CI": "true", "GITHUB_STEP_SUMMARY": f"{HOME}/summary"}
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder, "sources")
        subprocess.run(["git", "clone", "-q", REPOSITORY, sources], check=True)
        subprocess.run(["chown", "-R", str(RUNNER), sources], check=True)
        command = ["podman", "run", "--rm", *job["container"]["options"].split(), f"--volume={sources}:{SOURCES}"]
        command += [f"--env={name}={value}" for name, value in environment.items()]
        command += [*options, "--rootfs", f"{root}:O", "bash", "-c"]
        command.append(f"mkdir -p {HOME} && cd {SOURCES} || exit\n{script(job['steps'])}")
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 3:  # noqa: PLR2004 - ROOT and VERB
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
