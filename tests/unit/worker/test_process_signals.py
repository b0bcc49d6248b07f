import os
import signal

from sshload_worker.coordination.processes import _Processes, make_board


def test_a_signal_passes_over_a_process_that_was_waited_for_this_moment() -> None:
    processes, board = _Processes(), make_board(1)
    try:
        processes.start(["true"], board)
        (pid,) = processes._running
        os.waitpid(pid, 0)
        processes.forward_signal(signal.SIGTERM)
        processes.kill()
        processes._running.pop(pid).returncode = 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.close(board)
