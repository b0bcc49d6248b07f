"""Usage and limits from directory trees as the kernel lays them out, v2 and v1, with and without a cgroup namespace."""

from pathlib import Path

import pytest
from sshload_contract.wire.target import Usage
from sshload_target.usage.cgroups import CgroupV1Reader, CgroupV2Reader, find_v1_reader, find_v2_reader
from sshload_target.usage.values import Limits

V2_FILES = {
    "cpu.stat": "usage_usec 12500000\nuser_usec 10000000\nsystem_usec 2500000\n"
    "nr_periods 100\nnr_throttled 7\nthrottled_usec 1500000\n",
    "memory.current": "50000000\n",
    "memory.stat": "anon 30000000\nfile 20000000\ninactive_file 15000000\n",
    "memory.peak": "70000000\n",
    "cgroup.procs": "1\n12\n13\n",
    "memory.events": "low 0\nhigh 0\nmax 41\noom 3\noom_kill 2\noom_group_kill 0\n",
    "pids.events": "max 5\n",
}
V1_FILES = {
    "cpuacct/cpuacct.usage": "12500000000\n",
    "cpu/cpu.stat": "nr_periods 100\nnr_throttled 7\nthrottled_time 1500000000\n",
    "memory/memory.usage_in_bytes": "50000000\n",
    "memory/memory.stat": "cache 20000000\ntotal_inactive_file 15000000\n",
    "memory/memory.max_usage_in_bytes": "70000000\n",
    "memory/cgroup.procs": "1\n12\n13\n",
    "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
    "pids/pids.events": "max 5\n",
}
EXPECTED = Usage(
    cpu_s=12.5,
    cpu_throttled_s=1.5,
    memory_bytes=35_000_000,
    memory_is_upper_bound=False,
    memory_peak_bytes=70_000_000,
    processes=3,
    oom_kills=2,
    refused_forks=5,
)
V1_UNLIMITED_BYTES = "9223372036854771712\n"


V1_OWN = "".join(
    f"{number}:{name}:/kubepods/pod1/c1\n" for number, name in enumerate(("cpu", "cpuacct", "memory", "pids"))
)


def _write(place: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _v2_mount(top: str, mounted_at: Path) -> str:
    return f"30 20 0:26 {top} {mounted_at} ro,nosuid - cgroup2 cgroup rw,nsdelegate\n"


def _v1_mounts(top: str, mounted_at: Path) -> str:
    return "".join(
        f"{number} 20 0:{number} {top} {mounted_at}/{name} ro shared:9 - cgroup cgroup rw,{name}\n"
        for number, name in enumerate(("cpu", "cpuacct", "memory", "pids"), start=30)
    )


@pytest.mark.parametrize(
    ("own", "top", "below"),
    [
        pytest.param("0::/\n", "/", "", id="in a cgroup namespace"),
        pytest.param("0::/kubepods/pod1/c1\n", "/kubepods/pod1/c1", "", id="the host's path, our cgroup mounted"),
        pytest.param("0::/kubepods/pod1/c1\n", "/", "kubepods/pod1/c1", id="the host's path, the host's mount"),
        pytest.param("0::/kubepods/pod1/c1\n", "/", "", id="the host's path, our cgroup mounted as the root"),
    ],
)
def test_cgroup_v2_is_read(tmp_path: Path, own: str, top: str, below: str) -> None:
    _write(tmp_path / below, V2_FILES)
    reader = find_v2_reader(own, _v2_mount(top, tmp_path))
    assert reader is not None
    assert reader.read() == EXPECTED


def test_a_kernel_without_memory_peak_tells_no_peak(tmp_path: Path) -> None:
    _write(tmp_path, {name: text for name, text in V2_FILES.items() if name != "memory.peak"})
    reader = find_v2_reader("0::/\n", _v2_mount("/", tmp_path))
    assert reader is not None
    assert reader.read().memory_peak_bytes == 0


def test_a_cgroup_without_a_cpu_limit_is_not_throttled(tmp_path: Path) -> None:
    _write(tmp_path, V2_FILES | {"cpu.stat": "usage_usec 12500000\nuser_usec 10000000\nsystem_usec 2500000\n"})
    reader = find_v2_reader("0::/\n", _v2_mount("/", tmp_path))
    assert reader is not None
    assert reader.read().cpu_throttled_s == 0.0


def test_the_machines_own_root_of_v2_is_not_taken_for_the_container(tmp_path: Path) -> None:
    _write(tmp_path, {"cpu.stat": "usage_usec 1\n", "cgroup.procs": "1\n", "memory.stat": "inactive_file 0\n"})
    assert find_v2_reader("0::/\n", _v2_mount("/", tmp_path)) is None


@pytest.mark.parametrize(
    ("top", "below"),
    [
        pytest.param("/kubepods/pod1/c1", "", id="our cgroup mounted"),
        pytest.param("/", "kubepods/pod1/c1", id="the host's mount"),
    ],
)
def test_cgroup_v1_is_read(tmp_path: Path, top: str, below: str) -> None:
    for name, text in V1_FILES.items():
        controller, _, file = name.partition("/")
        _write(tmp_path / controller / below, {file: text})
    reader = find_v1_reader(V1_OWN, _v1_mounts(top, tmp_path))
    assert reader is not None
    assert reader.read() == EXPECTED
    assert reader.limits() == Limits()


def test_the_machines_own_root_of_v1_is_not_taken_for_the_container(tmp_path: Path) -> None:
    _write(tmp_path, V1_FILES | {"cpuacct/release_agent": ""})
    own = "9:memory:/\n3:cpuacct:/\n2:cpu:/\n"
    assert find_v1_reader(own, _v1_mounts("/", tmp_path)) is None


def test_joined_controllers_of_v1_are_read(tmp_path: Path) -> None:
    """Systemd mounts cpu and cpuacct as one."""
    for name, text in V1_FILES.items():
        controller, _, file = name.partition("/")
        _write(tmp_path / ("cpu,cpuacct" if controller.startswith("cpu") else controller), {file: text})
    own = "11:pids:/c1\n9:memory:/c1\n3:cpu,cpuacct:/c1\n"
    mounts = "".join(
        f"30 20 0:30 /c1 {tmp_path}/{name} ro - cgroup cgroup rw,{name}\n" for name in ("cpu,cpuacct", "memory", "pids")
    )
    reader = find_v1_reader(own, mounts)
    assert reader is not None
    assert reader.read() == EXPECTED


def _v1_reader(tmp_path: Path, files: dict[str, str], below: str = "") -> CgroupV1Reader:
    """Return the reader of a container with these files beside those of its usage, seen at `below`."""
    for name, text in (V1_FILES | files).items():
        controller, _, file = name.partition("/")
        _write(tmp_path / controller / below, {file: text})
    reader = find_v1_reader(V1_OWN, _v1_mounts("/" if below else "/kubepods/pod1/c1", tmp_path))
    assert reader is not None
    return reader


def _v2_reader(tmp_path: Path, files: dict[str, str], below: str = "") -> CgroupV2Reader:
    """Return the reader of a container with these files beside those of its usage, seen at `below`."""
    _write(tmp_path / below, V2_FILES | files)
    reader = find_v2_reader(f"0::/{below}\n", _v2_mount("/", tmp_path))
    assert reader is not None
    return reader


V2_LIMITS = {"cpu.max": "150000 100000\n", "memory.max": "268435456\n", "pids.max": "1024\n"}
V1_LIMITS = {
    "cpu/cpu.cfs_quota_us": "150000\n",
    "cpu/cpu.cfs_period_us": "100000\n",
    "memory/memory.limit_in_bytes": "268435456\n",
    "pids/pids.max": "1024\n",
}
V2_NO_LIMITS = {"cpu.max": "max 100000\n", "memory.max": "max\n", "pids.max": "max\n"}
V1_NO_LIMITS = {
    "cpu/cpu.cfs_quota_us": "-1\n",
    "cpu/cpu.cfs_period_us": "100000\n",
    "memory/memory.limit_in_bytes": V1_UNLIMITED_BYTES,
    "pids/pids.max": "max\n",
}
LIMITED = Limits(cpu_cores=1.5, memory_bytes=268_435_456, processes=1024)


def test_the_limits_of_v2_are_read(tmp_path: Path) -> None:
    assert _v2_reader(tmp_path, V2_LIMITS).limits() == LIMITED


def test_the_limits_of_v1_are_read(tmp_path: Path) -> None:
    assert _v1_reader(tmp_path, V1_LIMITS).limits() == LIMITED


@pytest.mark.parametrize("files", [pytest.param({}, id="no files"), pytest.param(V2_NO_LIMITS, id="files that say so")])
def test_no_limits_of_v2_are_none(tmp_path: Path, files: dict[str, str]) -> None:
    assert _v2_reader(tmp_path, files).limits() == Limits()


@pytest.mark.parametrize("files", [pytest.param({}, id="no files"), pytest.param(V1_NO_LIMITS, id="files that say so")])
def test_no_limits_of_v1_are_none(tmp_path: Path, files: dict[str, str]) -> None:
    assert _v1_reader(tmp_path, files).limits() == Limits()


def test_a_pods_own_limits_bind_its_container_where_they_are_smaller(tmp_path: Path) -> None:
    """The kubelet sets the limit of processes on the pod alone; the root has no such files."""
    pod = {"cpu.max": "100000 100000\n", "memory.max": "max\n", "pids.max": "100\n"}
    _write(tmp_path / "kubepods/pod1", pod)
    _write(tmp_path / "kubepods", {"cpu.max": "max 100000\n", "memory.max": "200000000\n", "pids.max": "4194304\n"})
    reader = _v2_reader(tmp_path, V2_LIMITS, "kubepods/pod1/c1")
    assert reader.limits() == Limits(cpu_cores=1.0, memory_bytes=200_000_000, processes=100)


def test_a_pods_own_limits_bind_its_container_in_v1_too(tmp_path: Path) -> None:
    pod = {"pids/kubepods/pod1/pids.max": "100\n", "memory/kubepods/memory.limit_in_bytes": "200000000\n"}
    root = {"memory/memory.limit_in_bytes": V1_UNLIMITED_BYTES, "cpu/cpu.cfs_quota_us": "-1\n"}
    _write(tmp_path, pod | root)
    reader = _v1_reader(tmp_path, V1_LIMITS, "kubepods/pod1/c1")
    assert reader.limits() == Limits(cpu_cores=1.5, memory_bytes=200_000_000, processes=100)


def test_a_limit_that_is_changed_while_the_container_runs_is_seen(tmp_path: Path) -> None:
    reader = _v2_reader(tmp_path, V2_LIMITS)
    assert reader.limits() == LIMITED
    _write(tmp_path, {"memory.max": "536870912\n"})
    assert reader.limits().memory_bytes == 536_870_912


def test_what_is_not_told_of_kills_and_refused_forks_is_none(tmp_path: Path) -> None:
    """v1 tells its kills from Linux 4.13 on; a container may be without the controller pids."""
    v2 = {name: text for name, text in V2_FILES.items() if not name.endswith("events")}
    _write(tmp_path / "v2", v2)
    of_v2 = find_v2_reader("0::/\n", _v2_mount("/", tmp_path / "v2"))
    v1 = {name: text for name, text in V1_FILES.items() if "pids" not in name}
    for name, text in (v1 | {"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n"}).items():
        _write(tmp_path / "v1", {name: text})
    of_v1 = find_v1_reader("3:memory:/c1\n2:cpuacct:/c1\n", _v1_mounts("/c1", tmp_path / "v1"))
    assert of_v2 is not None
    assert of_v1 is not None
    for usage in (of_v2.read(), of_v1.read()):
        assert (usage.oom_kills, usage.refused_forks) == (0, 0)


def test_mounts_are_read_whatever_they_are_called(tmp_path: Path) -> None:
    """What is mounted may have no name at all, and a path may have a blank, which the kernel writes in octal."""
    place = tmp_path / "a folder"
    _write(place, V2_FILES)
    mounts = f"29 20 0:25 / / rw - overlay  rw\n30 20 0:26 / {tmp_path}/a\\040folder ro - cgroup2  rw\n"
    reader = find_v2_reader("0::/\n", mounts)
    assert reader is not None
    assert reader.read() == EXPECTED


@pytest.mark.parametrize("lacking", ["cpuacct/cpuacct.usage", "memory/memory.stat", "memory/memory.usage_in_bytes"])
def test_cgroups_of_v1_that_tell_no_usage_are_no_reader(tmp_path: Path, lacking: str) -> None:
    """Such are gVisor's."""
    _write(tmp_path, {name: text for name, text in V1_FILES.items() if name != lacking})
    assert find_v1_reader(V1_OWN, _v1_mounts("/kubepods/pod1/c1", tmp_path)) is None


def test_what_is_not_told_of_the_page_cache_and_of_the_peak_is_none(tmp_path: Path) -> None:
    _write(tmp_path / "v2", V2_FILES | {"memory.stat": "anon 30000000\n"})
    v1 = {name: text for name, text in V1_FILES.items() if "max_usage" not in name}
    _write(tmp_path / "v1", v1 | {"memory/memory.stat": "cache 20000000\n"})
    of_v2 = find_v2_reader("0::/\n", _v2_mount("/", tmp_path / "v2"))
    of_v1 = find_v1_reader(V1_OWN, _v1_mounts("/kubepods/pod1/c1", tmp_path / "v1"))
    assert of_v2 is not None
    assert of_v1 is not None
    assert of_v2.read().memory_bytes == of_v1.read().memory_bytes == 50_000_000
    assert of_v1.read().memory_peak_bytes == 0


def test_no_cgroups_at_all_are_no_reader() -> None:
    assert find_v2_reader("", "") is None
    assert find_v1_reader("", "") is None


def test_a_cgroup_of_a_mount_of_v1_is_not_read_as_one_of_v2(tmp_path: Path) -> None:
    for name in ("cpu", "cpuacct", "memory", "pids"):
        _write(tmp_path / name, V2_FILES)
    assert find_v2_reader("0::/\n" + V1_OWN, _v1_mounts("/", tmp_path)) is None


def test_a_cgroup_may_have_a_colon_in_its_name(tmp_path: Path) -> None:
    assert _v2_reader(tmp_path, {}, "pod:1/c:1").read() == EXPECTED


def test_a_cgroup_below_the_one_that_is_mounted_is_read_and_its_parents_only_up_to_that(tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    _write(tmp_path, {"pids.max": "7\n"})
    _write(mounted, V2_FILES | {"pids.max": "100\n"})
    _write(mounted / "inner", V2_FILES | {"memory.current": "16000000\n", "pids.max": "200\n"})
    reader = find_v2_reader("0::/pod1/inner\n", _v2_mount("/pod1", mounted))
    assert reader is not None
    assert reader.read().memory_bytes == 1_000_000
    assert reader.limits().processes == 100


def test_more_page_cache_than_memory_leaves_none_in_use(tmp_path: Path) -> None:
    """The kernel counts both one after the other."""
    assert _v2_reader(tmp_path / "v2", {"memory.current": "14999999\n"}).read().memory_bytes == 0
    assert _v1_reader(tmp_path / "v1", {"memory/memory.usage_in_bytes": "14999999\n"}).read().memory_bytes == 0


def test_controllers_of_v1_without_the_files_of_throttling_and_refused_forks_tell_none(tmp_path: Path) -> None:
    reader = _v1_reader(tmp_path, {})
    for file in ("cpu/cpu.stat", "pids/pids.events"):
        (tmp_path / file).unlink()
    assert (reader.read().cpu_throttled_s, reader.read().refused_forks) == (0.0, 0)
