"""The layers of tests: what each one runs, in how many lanes, what it needs, and the time it may take."""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORES = os.cpu_count() or 1
FIXED_WORK_S = 0.045
"""The CPU time of the fixed piece of work (testing.machine) where the budgets were measured, in seconds.

It is an estimate: a slower machine takes 0.10 s, and 2.25 times the CPU for a command (docs/measurements/speed.md).
"""
QUICK_CPU_S = 0.2
"""What a test of the quick circle may take of CPUs of that speed."""
_CHANGES_ITS_PROCESS = ("worker",)
"""Folders of tests that each need a pytest process: Locust patches the process."""


@dataclass(frozen=True, slots=True)
class Need:
    """A command that prepares what tests need. It runs once, early, even if several layers name it.

    Its output lines NAME=VALUE, quoted for a shell, are added to the environment of what comes after it.
    """

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Service:
    """A program that all lanes of a suite share. Once it serves, it prints one line NAME=VALUE as a Need does.

    It serves until its standard input is closed.
    """

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """Folders whose tests share pytest processes, their services, and how many lanes run tests side by side."""

    name: str
    folders: tuple[Path, ...]
    lanes: int
    services: tuple[Service, ...] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. A run that takes longer than `budget_s` is reported; one that takes longer than `limit_s` is killed.

    Tests in folders that change their process do not get the services: an idle API server takes CPU. The budget is for
    2 cores that nothing else uses and that do the fixed piece of work in `FIXED_WORK_S`, with everything prepared; a
    layer has none while it runs beside others. The limit also suffices on a busy machine.
    """

    name: str
    lanes: int
    budget_s: int
    limit_s: int
    needs: tuple[Need, ...] = ()
    services: tuple[Service, ...] = ()
    is_quick: bool = False
    """Whether `make test-quick` runs it, so that each test of it that takes much CPU is marked `slow`."""
    waits: bool = False
    """Whether its tests wait so much that all quick layers run beside it, in what it leaves of the CPUs."""
    commands: tuple[tuple[str, ...], ...] = ()
    """What it runs in place of pytest: each command is a test."""
    folders: tuple[str, ...] = ()
    """Folders and files of other layers that it runs, where it has none of its own."""

    def suites(self) -> tuple[Suite, ...]:
        """Return the suites of its folder; folders that change their process have one each, and come first.

        Workers' tests wait most: where quick layers run beside others, they are not done yet.
        """
        if self.folders:
            return (Suite(self.name, tuple(ROOT / "tests" / one for one in self.folders), self.lanes, self.services),)
        folder = ROOT / "tests" / self.name
        inside = sorted(path for path in folder.glob("*/") if not path.name.startswith(("_", ".")))
        if not any(path.glob("**/test_*.py") for path in inside) or any(folder.glob("test_*.py")):
            return (Suite(self.name, (folder,), self.lanes, self.services),)
        together = tuple(path for path in inside if path.name not in _CHANGES_ITS_PROCESS)
        apart = tuple(path for path in inside if path.name in _CHANGES_ITS_PROCESS)
        suites = tuple(Suite(f"{self.name}/{path.name}", (path,), self.lanes) for path in apart)
        return (*suites, Suite(self.name, together, self.lanes, self.services)) if together else suites


def _made_by(program: str) -> tuple[str, ...]:
    """Return the command that runs a module of tests/support which makes what tests need."""
    return ".venv/bin/python", f"tests/support/{program}.py"


PACKAGES = Need(
    "packages",
    (
        "scripts/debian-packages", "cmake", "debian-archive-keyring", "debootstrap", "dropbear-bin", "gcc", "git",
        "haproxy", "iproute2", "krb5-admin-server", "krb5-kdc", "libc6-dev", "libnginx-mod-stream", "libnss-sss",
        "libpam-oath", "libpam-sss", "make", "nginx",
        "openssh-client", "openssh-server", "patch", "prometheus", "proftpd-core", "proftpd-mod-crypto", "python3-dev",
        "rsync", "shellcheck", "slapd", "sssd-ldap", "tinysshd", "util-linux", "zlib1g-dev",
    ),
)  # fmt: skip
SSH_LIBRARY = Need("ssh library", ("scripts/own-ssh2", ".venv/bin/python", "--install"))
MINA_SSHD = Need(
    "MINA SSHD",
    (
        "bash",
        "-c",
        "scripts/debian-packages default-jdk-headless maven && scripts/mina-sshd .venv/share/sshload/mina-sshd",
    ),
)  # fmt: skip
ACTIONLINT = Need(
    "actionlint", ("bash", "-c", 'path=$(scripts/tool actionlint) && printf "SSHLOAD_ACTIONLINT=%q\\n" "$path"')
)
POSTGRESQL = Need("PostgreSQL", ("scripts/debian-packages", "postgresql"))
HELM = Need("helm", ("bash", "-c", 'path=$(scripts/tool helm) && printf "SSHLOAD_HELM=%q\\n" "$path"'))
GO_SSH_SERVER = Need("SSH server in Go", _made_by("ssh/other_servers"))
GITOPS_READER = Need("reader of GitOps objects", _made_by("gitops/flux_and_argo"))
CRDS_OF_OTHERS = Need("CRDs of others", _made_by("kubernetes/crds_of_others"))
FLUX = Need("Flux's kustomize-controller", _made_by("gitops/flux_programs"))
ARGO = Need("Argo CD", _made_by("gitops/argo_cd_programs"))
REDIS = Need("Redis", ("scripts/debian-packages", "redis-server"))
BROWSER = Need("browser", ("scripts/debian-packages", "chromium"))
CLUSTER_PROGRAMS = Need("cluster's programs", ("tests/cluster/cluster", "build"))
OLDEST_API_SERVER = Need("API server of the oldest Kubernetes", ("scripts/oldest-api-server",))
CLUSTER = Need("cluster and images", ("scripts/bring-up",))
"""It prints the path of helm too, as HELM does."""
NEEDS = (
    PACKAGES,
    ACTIONLINT,
    SSH_LIBRARY,
    MINA_SSHD,
    GO_SSH_SERVER,
    GITOPS_READER,
    CRDS_OF_OTHERS,
    BROWSER,
    POSTGRESQL,
    CLUSTER_PROGRAMS,
    HELM,
    CLUSTER,
    REDIS,
    FLUX,
    ARGO,
    OLDEST_API_SERVER,
)
"""All needs, in the order in which they are prepared. The cluster's programs include helm, so helm comes after them."""
INSTALLED_CHART = Service("installed chart", (".venv/bin/python", "tests/support/kubernetes/chart_release.py"))
API_SERVER = Service("API server", (".venv/bin/python", "tests/support/kubernetes/api_server.py"))

LINT = "lint"


def _one_program(name: str, limit_minutes: int, *command: str) -> Layer:
    """Return the layer of a program that is one test, of `make test-all`."""
    return Layer(name, 1, limit_minutes * 60, limit_minutes * 60, commands=(command,))


# Unit tests wait for as long as they take of the CPUs, mostly for limits of connections: lanes are more than cores.
LAYERS = (
    Layer(LINT, CORES, 15, 10 * 60, (PACKAGES, ACTIONLINT)),
    Layer("unit", 2 * CORES + 1, 65, 20 * 60, (PACKAGES, SSH_LIBRARY), is_quick=True),
    Layer("simulation", CORES, 30, 20 * 60, is_quick=True),
    Layer("golden", CORES, 5, 10 * 60, (PACKAGES, HELM), is_quick=True),
    Layer(
        "integration",
        6,
        400,
        60 * 60,
        (
            PACKAGES,
            SSH_LIBRARY,
            MINA_SSHD,
            GO_SSH_SERVER,
            HELM,
            GITOPS_READER,
            CRDS_OF_OTHERS,
            BROWSER,
            POSTGRESQL,
            CLUSTER_PROGRAMS,
        ),
        (API_SERVER,),
        waits=True,
    ),
    Layer("e2e", 4, 180, 60 * 60, (PACKAGES, SSH_LIBRARY, CLUSTER), (INSTALLED_CHART,), waits=True),
    Layer(
        "oldest",
        2,
        300,
        60 * 60,
        (PACKAGES, SSH_LIBRARY, HELM, GITOPS_READER, CLUSTER_PROGRAMS, OLDEST_API_SERVER),
        (API_SERVER,),
        folders=(
            *(f"integration/{name}" for name in ("api_server", "manifests", "watch", "chart")),
            *(f"integration/operator_api/test_{name}.py" for name in ("whole_run", "schedules")),
        ),
    ),
    _one_program("families", 60, "scripts/families"),
    Layer("gitops", 1, 180, 60 * 60, (PACKAGES, REDIS, CLUSTER_PROGRAMS, FLUX, ARGO)),
    _one_program("chaos", 240, "env", "EVERY=10", "scripts/chaos", "operator"),
    _one_program("chaos-network", 120, "scripts/chaos", "network"),
    _one_program("chaos-cluster", 120, "scripts/chaos", "cluster"),
    _one_program("fuzz", 120, "scripts/fuzz", "60"),
    _one_program("sanitized", 200, "scripts/sanitized"),
    _one_program("images", 120, "scripts/images", "compare"),
    _one_program("mutants", 240, ".venv/bin/python", "tests/mutants/mutants.py", "--turn", "5"),
)
"""All layers, in the order in which they run."""
