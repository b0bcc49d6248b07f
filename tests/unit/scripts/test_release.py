"""What a release is made of is pinned, agrees with the chart, and is made with no more rights than it takes."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from sshload_operator.planning.proxy_programs import PROXY_PROGRAMS
from testing.layers import LAYERS

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
RELEASE = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
VALUES = yaml.safe_load((ROOT / "charts/sshload/values.yaml").read_text(encoding="utf-8"))
MATRIX = RELEASE["jobs"]["images"]["strategy"]["matrix"]["component"]


def words(file: Path, form: str) -> list[str]:
    return re.findall(form, file.read_text(encoding="utf-8"), re.MULTILINE)


def jobs() -> Iterator[dict[str, Any]]:
    for workflow in WORKFLOWS:
        yield from yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()


def steps() -> Iterator[dict[str, Any]]:
    for job in jobs():
        yield from job.get("steps", ())


def test_the_base_image_has_a_dated_tag_and_a_digest() -> None:
    sources = words(ROOT / "Dockerfile", r"^FROM (\S+)")
    stages = set(words(ROOT / "Dockerfile", r"^FROM .* AS (\S+)$"))
    (base,) = (source for source in sources if source not in stages)
    assert re.fullmatch(r"docker\.io/library/debian:trixie-\d{8}-slim@sha256:[0-9a-f]{64}", base)


def test_developers_have_the_debian_of_the_images() -> None:
    assert words(ROOT / ".devcontainer/Dockerfile", r"^FROM (\S+)") == words(ROOT / "Dockerfile", r"^FROM (\S+@\S+)")


def test_the_image_of_the_proxies_and_the_machine_of_the_tests_have_the_packages_of_each_kind() -> None:
    packages = {package for program in PROXY_PROGRAMS.values() for package in program.packages}
    _, _, stage = (ROOT / "Dockerfile").read_text(encoding="utf-8").partition("FROM base AS proxy-dependencies\n")
    (installed,) = re.findall(r"sh /mnt/image-packages ([a-z0-9 -]+)$", stage, re.MULTILINE)
    assert set(installed.split()) == packages
    assert packages <= set(words(ROOT / "scripts/testing/layers.py", r'"([a-z0-9-]+)"'))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_commit_with_their_version_and_images_by_digest(workflow: Path) -> None:
    actions = words(workflow, r"uses: ([^.].*)$")
    assert [action for action in actions if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)] == []
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", image) for image in words(workflow, r"image=(\S+)"))
    assert set(words(workflow, r"uses: (\..*)$")) <= {"./.github/workflows/make.yml"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_has_only_the_rights_that_it_names(workflow: Path) -> None:
    document = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    assert document["permissions"] == {}
    assert [name for name, job in document["jobs"].items() if "permissions" not in job] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_step_fails_where_a_command_before_a_pipe_fails(workflow: Path) -> None:
    """GitHub starts bash with pipefail only where the shell is named: else `release-facts | tee` refuses no tag."""
    document = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    piping = [
        step["run"]
        for job in document["jobs"].values()
        for step in job.get("steps", ())
        if re.search(r"[^|]\|[^|]", step.get("run", ""))
    ]
    assert not piping or document.get("defaults") == {"run": {"shell": "bash"}}


def test_only_jobs_after_tests_and_comparison_may_write() -> None:
    writing = {name for name, job in RELEASE["jobs"].items() if "write" in job["permissions"].values()}
    assert writing == {"images", "chart", "python", "release"}
    assert {"test", "compare"} <= set(RELEASE["jobs"]["images"]["needs"])
    assert "images" in RELEASE["jobs"]["chart"]["needs"]
    assert "chart" in RELEASE["jobs"]["python"]["needs"]
    assert "python" in RELEASE["jobs"]["release"]["needs"]


def test_no_expression_of_github_stands_in_a_shell_script() -> None:
    """It would be text of the script, whoever wrote it; scripts get such values by their environment."""
    assert [step["run"] for step in steps() if "${{" in step.get("run", "")] == []


def test_it_publishes_the_images_that_the_chart_asks_for() -> None:
    assert [VALUES[component]["image"]["repository"] for component in MATRIX] == [f"sshload-{name}" for name in MATRIX]
    assert RELEASE["jobs"]["images"]["env"]["IMAGE"].endswith("/sshload-${{ matrix.component }}")
    assert VALUES["image"]["tag"] == ""  # which stands for the appVersion
    (built,) = words(ROOT / "scripts/images", r"^components=\((.*)\)$")
    assert built.split() == MATRIX
    (baked,) = words(ROOT / "docker-bake.hcl", r"component = \[(.*)\]")
    assert re.findall(r"\w+", baked) == MATRIX


def test_each_verb_that_a_workflow_makes_is_one_of_the_makefile() -> None:
    targets = set(words(ROOT / "Makefile", r"^([a-z0-9-]+):"))
    made = [job["with"] for job in jobs() if job.get("uses") == "./.github/workflows/make.yml"]
    named = {inputs["verb"].split()[0] for inputs in made}
    assert {"test", "test-quick", "test-all"} <= named
    assert named - targets == set()


def test_everything_is_every_layer() -> None:
    """`make test-all` leaves none out."""
    lists = dict(re.findall(r"^(QUICK|USUAL|ALL) := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.sub(r"\$\((\w+)\)", lambda found: lists[found[1]], lists["ALL"].replace("$(USUAL)", lists["USUAL"]))
    assert named.split() == [layer.name for layer in LAYERS]


def test_the_layers_of_the_night_are_all_that_there_are_and_no_two_jobs_share_a_cache() -> None:
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8"))["jobs"]["all"]
    jobs_of_the_night = nightly["strategy"]["matrix"]["include"]
    layers = [layer for job in jobs_of_the_night for layer in job["layers"].split(",")]
    assert sorted(layers) == sorted(layer.name for layer in LAYERS)
    titles = [job["title"] for job in jobs_of_the_night]
    assert len(set(titles)) == len(titles)
    assert [title for title in titles if "," in title] == []  # no key of a cache may have one


def test_tests_run_on_the_debian_of_the_images() -> None:
    make = ROOT / ".github/workflows/make.yml"
    assert words(make, r"inputs.image \|\| '([^']*)'") == words(
        ROOT / "Dockerfile", r"^FROM docker.io/library/(\S+@\S+)"
    )


CHANGES = """# Changes

## 0.2.0 - unreleased

- Newer.

## 0.1.0 - 2026-09-18

### Added

- A [page](docs/how-to/pages.md#see) and a [site](https://example.com), [here](#here).

## 0.0.1 - 2026-01-01

- Older.
"""


def notes(folder: Path, tag: str) -> subprocess.CompletedProcess[str]:
    (folder / "scripts").mkdir()
    (folder / "scripts/release-notes").write_bytes((ROOT / "scripts/release-notes").read_bytes())
    (folder / "CHANGELOG.md").write_text(CHANGES, encoding="utf-8")
    command = ["bash", folder / "scripts/release-notes", tag, "https://github.com/acme/sshload"]
    return subprocess.run(command, check=False, text=True, capture_output=True)


def test_the_page_of_a_release_has_what_the_changelog_says_of_it_with_whole_links(tmp_path: Path) -> None:
    assert notes(tmp_path, "v0.1.0").stdout.strip() == (
        "### Added\n\n- A [page](https://github.com/acme/sshload/blob/v0.1.0/docs/how-to/pages.md#see) "
        "and a [site](https://example.com), [here](#here)."
    )


def test_a_version_of_which_the_changelog_says_nothing_has_no_page(tmp_path: Path) -> None:
    done = notes(tmp_path, "v0.3.0")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sshload: CHANGELOG.md says nothing of 0.3.0\n"


def facts(folder: Path, tag: str, changes: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/release-facts for a tag in a repository with the project's own versions and these changes."""
    for file in ("scripts/release-facts", "pyproject.toml", "charts/sshload/Chart.yaml"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes((ROOT / file).read_bytes())
    (folder / "CHANGELOG.md").write_text(f"# Changes\n\n{changes}\n", encoding="utf-8")
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    for command in (("init", "-q"), ("commit", "-q", "--allow-empty", "--date=@0", "-m", "A commit")):
        subprocess.run(
            ["git", *identity, *command], cwd=folder, check=True, env={"GIT_COMMITTER_DATE": "1789689600 +0000"}
        )
    command = ["bash", folder / "scripts/release-facts", tag]
    return subprocess.run(command, check=False, text=True, capture_output=True)


def test_a_release_takes_version_times_and_debians_archive_from_tag_and_commit(tmp_path: Path) -> None:
    done = facts(tmp_path, "v0.1.0", "## 0.1.0 - 2026-09-18")
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "VERSION=0.1.0",
        "SOURCE_DATE_EPOCH=1789689600",
        "DEBIAN_SNAPSHOT=20260918T000000Z",
    ]


@pytest.mark.parametrize(
    ("tag", "changes", "said"),
    [
        ("v0.2.0", "## 0.2.0 - 2026-09-18", 'pyproject.toml says "0.1.0", the tag "0.2.0"'),
        ("0.1.0", "## 0.1.0 - 2026-09-18", "a tag of a release is vX.Y.Z"),
        ("v0.1.0", "## 0.1.0 - unreleased", 'no line "## 0.1.0 - YYYY-MM-DD"'),
    ],
)
def test_a_tag_that_disagrees_with_the_sources_is_refused(tmp_path: Path, tag: str, changes: str, said: str) -> None:
    done = facts(tmp_path, tag, changes)
    assert done.returncode == 1
    assert said in done.stderr
