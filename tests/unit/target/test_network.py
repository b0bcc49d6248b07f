"""The kernel's tables, as /proc prints them."""

from pathlib import Path

from sshload_target.sshd.network import Peer, is_listening, open_peers

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
TAIL = " 00000000:00000000 00:00000000 00000000     0        0 100 1 0000000000000000 20 4 30 10 -1\n"
SSHD_PORT = 2222  # 08AE


def _tcp(tmp_path: Path, *rows: str, tcp6: tuple[str, ...] = ()) -> Path:
    (tmp_path / "tcp").write_text(HEAD + "".join(f"   {n}: {row}{TAIL}" for n, row in enumerate(rows)))
    if tcp6:
        (tmp_path / "tcp6").write_text(HEAD + "".join(f"   {n}: {row}{TAIL}" for n, row in enumerate(tcp6)))
    return tmp_path


def test_only_open_connections_to_the_port_are_peers(tmp_path: Path) -> None:
    proc_net = _tcp(
        tmp_path,
        "00000000:08AE 00000000:0000 0A",  # listening
        "0100007F:08AE 0100007F:C001 01",  # established
        "0100007F:08AE 0100007F:C002 08",  # closed by the peer, not yet by sshd
        "0100007F:08AE 0100007F:C003 06",  # TIME_WAIT
        "0100007F:C001 0100007F:08AE 01",  # the client's end
        "0100007F:1F90 0100007F:C004 01",  # another port
    )
    assert open_peers(SSHD_PORT, proc_net) == {Peer("127.0.0.1", 0xC001), Peer("127.0.0.1", 0xC002)}


def test_addresses_are_spelled_as_sshd_spells_them(tmp_path: Path) -> None:
    proc_net = _tcp(
        tmp_path,
        tcp6=(
            "00000000000000000000000001000000:08AE 00000000000000000000000001000000:C001 01",
            "0000000000000000FFFF00000500F40A:08AE 0000000000000000FFFF00000900F40A:C002 01",
            "B80D0120000000000000000001000000:08AE B80D0120000000000000000009000000:C003 01",
        ),
    )
    assert open_peers(SSHD_PORT, proc_net) == {
        Peer("::1", 0xC001),
        Peer("10.244.0.9", 0xC002),
        Peer("2001:db8::9", 0xC003),
    }


def test_a_kernel_that_tells_nothing_of_its_network_has_no_peers(tmp_path: Path) -> None:
    assert open_peers(SSHD_PORT, tmp_path) == set()


def test_a_port_is_listened_at_by_either_family_and_by_none_that_is_only_connected(tmp_path: Path) -> None:
    connected = "0100007F:08AE 0100007F:C001 01"
    assert not is_listening(SSHD_PORT, _tcp(tmp_path, connected, "00000000:1F90 00000000:0000 0A"))
    assert is_listening(SSHD_PORT, _tcp(tmp_path, connected, "00000000:08AE 00000000:0000 0A"))
    of_ipv6 = ("00000000000000000000000000000000:08AE 00000000000000000000000000000000:0000 0A",)
    assert is_listening(SSHD_PORT, _tcp(tmp_path, connected, tcp6=of_ipv6))
