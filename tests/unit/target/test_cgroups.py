"""Usage from directory trees as the kernel lays them out, v2 and v1, with and without a cgroup namespace."""

from pathlib import Path

import pytest
from sshload_target import cgroup_v1, cgroup_v2
from sshload_target.usage import Usage

V2_FILES = {
    "cpu.stat": "usage_usec 12500000\nuser_usec 10000000\nsystem_usec 2500000\n"
    "nr_periods 100\nnr_throttled 7\nthrottled_usec 1500000\n",
    "memory.current": "50000000\n",
    "memory.stat": "anon 30000000\nfile 20000000\ninactive_file 15000000\n",
    "memory.peak": "70000000\n",
    "cgroup.procs": "1\n12\n13\n",
}
V1_FILES = {
    "cpuacct/cpuacct.usage": "12500000000\n",
    "cpu/cpu.stat": "nr_periods 100\nnr_throttled 7\nthrottled_time 1500000000\n",
    "memory/memory.usage_in_bytes": "50000000\n",
    "memory/memory.stat": "cache 20000000\ntotal_inactive_file 15000000\n",
    "memory/memory.max_usage_in_bytes": "70000000\n",
    "memory/cgroup.procs": "1\n12\n13\n",
}
EXPECTED = Usage(cpu_s=12.5, cpu_throttled_s=1.5, memory_bytes=35_000_000, memory_peak_bytes=70_000_000, processes=3)


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
        for number, name in enumerate(("cpu", "cpuacct", "memory"), start=30)
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
    reader = cgroup_v2.find_reader(own, _v2_mount(top, tmp_path))
    assert reader is not None
    assert reader.read() == EXPECTED


def test_a_kernel_without_memory_peak_tells_no_peak(tmp_path: Path) -> None:
    _write(tmp_path, {name: text for name, text in V2_FILES.items() if name != "memory.peak"})
    reader = cgroup_v2.find_reader("0::/\n", _v2_mount("/", tmp_path))
    assert reader is not None
    assert reader.read().memory_peak_bytes == 0


def test_a_cgroup_without_a_cpu_limit_is_not_throttled(tmp_path: Path) -> None:
    _write(tmp_path, V2_FILES | {"cpu.stat": "usage_usec 12500000\nuser_usec 10000000\nsystem_usec 2500000\n"})
    reader = cgroup_v2.find_reader("0::/\n", _v2_mount("/", tmp_path))
    assert reader is not None
    assert reader.read().cpu_throttled_s == 0.0


def test_the_machines_own_root_of_v2_is_not_taken_for_the_container(tmp_path: Path) -> None:
    _write(tmp_path, {"cpu.stat": "usage_usec 1\n", "cgroup.procs": "1\n", "memory.stat": "inactive_file 0\n"})
    assert cgroup_v2.find_reader("0::/\n", _v2_mount("/", tmp_path)) is None


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
    own = "9:memory:/kubepods/pod1/c1\n3:cpuacct:/kubepods/pod1/c1\n2:cpu:/kubepods/pod1/c1\n0::/\n"
    reader = cgroup_v1.find_reader(own, _v1_mounts(top, tmp_path))
    assert reader is not None
    assert reader.read() == EXPECTED


def test_the_machines_own_root_of_v1_is_not_taken_for_the_container(tmp_path: Path) -> None:
    _write(tmp_path, V1_FILES | {"cpuacct/release_agent": ""})
    own = "9:memory:/\n3:cpuacct:/\n2:cpu:/\n"
    assert cgroup_v1.find_reader(own, _v1_mounts("/", tmp_path)) is None


def test_joined_controllers_of_v1_are_read(tmp_path: Path) -> None:
    """Systemd mounts cpu and cpuacct as one."""
    for name, text in V1_FILES.items():
        controller, _, file = name.partition("/")
        _write(tmp_path / ("memory" if controller == "memory" else "cpu,cpuacct"), {file: text})
    own = "9:memory:/c1\n3:cpu,cpuacct:/c1\n"
    mounts = "".join(
        f"30 20 0:30 /c1 {tmp_path}/{name} ro - cgroup cgroup rw,{name}\n" for name in ("cpu,cpuacct", "memory")
    )
    reader = cgroup_v1.find_reader(own, mounts)
    assert reader is not None
    assert reader.read() == EXPECTED


def test_no_cgroups_at_all_are_no_reader() -> None:
    assert cgroup_v2.find_reader("", "") is None
    assert cgroup_v1.find_reader("", "") is None
