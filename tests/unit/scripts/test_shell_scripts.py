"""Rules for all shell scripts of the project that shellcheck does not know."""

import re
import subprocess
from pathlib import Path

from run_tests import lint_commands

ROOT = Path(__file__).parents[3]
WAITS_BY_NUMBER = re.compile(r"^\s*wait +[^#\s]", re.MULTILINE)


def test_no_script_waits_for_a_process_by_its_number() -> None:
    """Bash forgets how a child ended once another one has its number, and then `wait` fails with 127.

    Compiling the cluster starts more processes than there are numbers. So a script waits for all of its children, and
    then repeats what one of them had to do, which does nothing if it is done.
    """
    assert [name for name, text in shell_scripts().items() if WAITS_BY_NUMBER.search(text)] == []


def test_what_a_script_says_of_its_use_is_all_of_its_head_and_nothing_else() -> None:
    ranges = {
        name: (int(found[1]), text.splitlines())
        for name, text in shell_scripts().items()
        if (found := re.search(r"sed -n '2,(\d+)[^']*' \"\$0\"", text))
    }
    assert len(ranges) > 8
    wrong = [
        name
        for name, (last, lines) in ranges.items()
        if not all(line.startswith("#") for line in lines[1:last]) or re.match("# (?!shellcheck)", lines[last])
    ]
    assert wrong == []


def test_shellcheck_is_given_each_program_in_shell() -> None:
    """What has no first line for the kernel is read by a program, and so by shellcheck."""
    (given,) = (command for command in lint_commands({"SSHLOAD_ACTIONLINT": ""}) if command[0] == "shellcheck")
    assert {name for name, text in shell_scripts().items() if text.startswith("#!")} - {*given} == set()


def shell_scripts() -> dict[str, str]:
    """Return the texts of all shell scripts of the project, by name."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    texts = {name: path.read_text(encoding="utf-8", errors="replace")
             for name in files.split("\0") if name and (path := ROOT / name).is_file()}  # fmt: skip
    scripts = {name: text for name, text in texts.items() if re.match(r"#!.*sh\b", text) or name.endswith(".sh")}
    assert len(scripts) > 20
    return scripts
