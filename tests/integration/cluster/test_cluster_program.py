"""The program that makes a cluster from plain processes, with a cache of its own: the running cluster is left alone."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from free_ports import free_port
from running_target import WITHIN_S

ROOT = Path(__file__).parents[3]
CLUSTER = ROOT / "tests/cluster/cluster"
Etcd = Callable[[Path], subprocess.Popen[bytes]]


def cluster(cache: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program with this cache."""
    command = [str(CLUSTER), *arguments]
    environment = {**os.environ, "SSHLOAD_CLUSTER_CACHE": str(cache), **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=WITHIN_S)


def compiled() -> Path:
    """Return the folder of the compiled programs, as `make` leaves them before this layer."""
    done = subprocess.run([CLUSTER, "kubectl"], check=True, capture_output=True, text=True)
    return Path(done.stdout.strip()).parent


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache in which etcd is compiled and nothing else."""
    (tmp_path / "bin").mkdir()
    shutil.copy(compiled() / "etcd", tmp_path / "bin")
    return tmp_path


@pytest.fixture
def etcd(cache: Path) -> Iterator[Etcd]:
    """Start the cache's etcd with its data in a folder; it listens by the time it is returned."""
    started = []

    def start(data: Path) -> subprocess.Popen[bytes]:
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        process = subprocess.Popen(
            [cache / "bin/etcd", f"--data-dir={data}", f"--listen-client-urls={client}",
             f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        give_up = time.monotonic() + WITHIN_S
        while not (data / "member/snap/db").exists():
            assert process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.05)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.root
def test_down_ends_the_cluster_s_own_processes_only(cache: Path, etcd: Etcd, tmp_path: Path) -> None:
    """Other tests run the same programs on data of their own."""
    own = etcd(cache / "run/etcd")
    foreign = etcd(tmp_path / "of a test")
    done = cluster(cache, "down")
    assert done.returncode == 0, done.stderr
    assert own.wait(timeout=WITHIN_S) is not None
    assert foreign.poll() is None
    assert not (cache / "run").exists()


@pytest.mark.root
def test_down_leaves_alone_the_network_that_another_cluster_made(cache: Path) -> None:
    """Only the cluster that made the bridge takes it away. This bridge is in a network namespace of the test's own."""
    here = 'ip link add sshload0 type bridge; "$0" down; ip -brief link show sshload0'
    environment = {**os.environ, "SSHLOAD_CLUSTER_CACHE": str(cache)}
    command = ["unshare", "--net", "sh", "-ec", here, str(CLUSTER)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=WITHIN_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("sshload0")


@pytest.mark.root
def test_down_twice_is_as_good_as_once(cache: Path, etcd: Etcd) -> None:
    """There may be nothing to stop."""
    own = etcd(cache / "run/etcd")
    assert cluster(cache, "down").returncode == 0
    assert own.wait(timeout=WITHIN_S) is not None
    again = cluster(cache, "down")
    assert (again.returncode, again.stderr) == (0, "")
    assert cluster(cache, "status").stdout == "down\n"


@pytest.mark.root
def test_a_cluster_that_was_never_started_is_down(cache: Path) -> None:
    """A script can ask."""
    done = cluster(cache, "status")
    assert (done.returncode, done.stdout) == (1, "down\n")


@pytest.mark.root
def test_the_kubeconfig_lies_in_the_cache(cache: Path) -> None:
    """The path is the same before, while and after the cluster runs."""
    assert cluster(cache, "kubeconfig").stdout == f"{cache}/run/pki/admin.conf\n"


def test_images_can_be_built_before_a_cluster_was_ever_started(tmp_path: Path) -> None:
    """The folder of the cache is made by what comes first. A buildah that has both base images stands in for it."""
    script = '. "$0"; cluster_buildah() { :; }; base_images'
    environment = {**os.environ, "cache": str(tmp_path / "of its own")}
    library = ROOT / "tests/cluster/lib/base_images.sh"
    done = subprocess.run(
        ["bash", "-euc", script, library], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.root
def test_what_is_compiled_is_not_compiled_again(cache: Path) -> None:
    """The hash of the module's go.mod, go.sum and sources decides: no Go is needed, and the program is not touched."""
    for module in ("programs", "runc"):
        shutil.copy(compiled() / f".{module}", cache / "bin")
    before = (cache / "bin/etcd").stat()
    done = cluster(cache, "build", GO="/nonexistent/go")
    assert done.returncode == 0, done.stderr
    assert (cache / "bin/etcd").stat() == before


@pytest.mark.root
def test_what_was_compiled_from_other_sources_is_compiled_anew(cache: Path) -> None:
    """A changed lock is noticed."""
    (cache / "bin/.programs").write_text("another hash\n")
    done = cluster(cache, "build", GO="/nonexistent/go")
    assert done.returncode != 0
    assert "compiling once: programs" in done.stderr
    assert not (cache / "bin/.programs").exists(), "half of the programs would be taken for all of them"


@pytest.mark.root
def test_a_module_that_does_not_exist_is_named(cache: Path) -> None:
    """It is named before the others are compiled, which takes minutes."""
    done = cluster(cache, "build", "programs", "etcd", GO="/nonexistent/go")
    assert done.returncode != 0
    assert done.stderr == "cluster: no module etcd\n"


@pytest.mark.root
@pytest.mark.parametrize("arguments", [("begin",), ("start",), ("node-add", "one", "more")])
def test_a_verb_that_does_not_exist_or_lacks_its_name_shows_those_that_do(
    cache: Path, arguments: tuple[str, ...]
) -> None:
    """A usage error has exit code 2."""
    done = cluster(cache, *arguments)
    assert done.returncode == 2
    assert "cluster up" in done.stderr
