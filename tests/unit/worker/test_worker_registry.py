from sshload_worker.coordination.connected_workers import WorkerRegistry
from sshload_worker.coordination.messages import LOST_AFTER_S


def started(*indexes: int) -> WorkerRegistry:
    worker_registry = WorkerRegistry(len(indexes))
    for index in indexes:
        worker_registry.register(index, f"client-{index}", 0.0)
        worker_registry.note_ready(index, f"client-{index}")
    worker_registry.note_start(0.0)
    return worker_registry


def look_each_second(worker_registry: WorkerRegistry, begin_s: int, end_s: int) -> None:
    for now_s in range(begin_s, end_s + 1):
        worker_registry.note_silence(float(now_s))


def test_all_are_ready_only_when_each_has_come_and_said_so() -> None:
    worker_registry = WorkerRegistry(2)
    worker_registry.register(0, "a", 0.0)
    worker_registry.note_ready(0, "a")
    assert (worker_registry.connected, worker_registry.all_connected, worker_registry.absent) == (1, False, (1,))
    assert not worker_registry.all_ready
    worker_registry.register(1, "b", 0.0)
    assert (worker_registry.all_connected, worker_registry.all_ready) == (True, False)
    worker_registry.note_ready(1, "b")
    assert worker_registry.all_ready


def test_an_index_that_nobody_expects_is_not_counted() -> None:
    worker_registry = WorkerRegistry(1)
    worker_registry.register(1, "b", 0.0)
    assert worker_registry.connected == 0


def test_before_the_start_a_newcomer_takes_the_place_of_its_index() -> None:
    worker_registry = WorkerRegistry(1)
    worker_registry.register(0, "a", 0.0)
    worker_registry.note_ready(0, "a")
    worker_registry.register(0, "b", 1.0)
    assert (worker_registry.connected, worker_registry.all_ready) == (1, False)


def test_what_a_replaced_worker_says_late_is_not_said_of_the_one_in_its_place() -> None:
    worker_registry = WorkerRegistry(1)
    worker_registry.register(0, "a", 0.0)
    worker_registry.register(0, "b", 1.0)
    worker_registry.note_ready(0, "a")
    worker_registry.note_login(0, "a", accepted=True)
    worker_registry.note_leave(0, "a", "told to terminate")
    assert (worker_registry.connected, worker_registry.client_ids) == (1, ("b",))
    assert (worker_registry.all_ready, worker_registry.all_logged_in, worker_registry.accepted) == (False, False, 1)
    worker_registry.note_ready(0, "b")
    worker_registry.note_start(2.0)
    worker_registry.note_final_report(0, "a")
    assert not worker_registry.all_done
    worker_registry.note_leave(0, "a", "told to terminate")
    assert worker_registry.losses == ()


def test_before_the_start_one_that_left_is_absent_again() -> None:
    worker_registry = WorkerRegistry(1)
    worker_registry.register(0, "a", 0.0)
    worker_registry.note_leave(0, "a", "told to")
    assert (worker_registry.absent, worker_registry.losses) == ((0,), ())


def test_all_have_logged_in_only_when_each_newcomer_has_too() -> None:
    worker_registry = WorkerRegistry(2)
    for index in range(2):
        worker_registry.register(index, f"client-{index}", 0.0)
        worker_registry.note_login(index, f"client-{index}", accepted=index == 0)
    assert (worker_registry.all_logged_in, worker_registry.accepted) == (True, 1)
    worker_registry.register(0, "another client", 1.0)
    assert (worker_registry.all_logged_in, worker_registry.accepted) == (False, 1)


def test_the_login_of_a_worker_whose_place_another_took_has_been_accepted_all_the_same() -> None:
    worker_registry = WorkerRegistry(1)
    for client in ("first", "second"):
        worker_registry.register(0, client, 0.0)
        worker_registry.note_login(0, client, accepted=True)
    assert worker_registry.accepted == 2


def test_after_the_start_a_newcomer_means_that_the_first_one_is_lost() -> None:
    worker_registry = started(0)
    worker_registry.register(0, "b", 1.0)
    assert worker_registry.losses == ("worker 0 was replaced during the run",)


def test_one_that_leaves_during_the_run_is_lost_with_its_reason() -> None:
    worker_registry = started(0, 1)
    worker_registry.note_leave(1, "client-1", "told to terminate")
    assert worker_registry.losses == ("worker 1 left: told to terminate",)


def test_silence_is_a_loss_only_when_it_lasts() -> None:
    worker_registry = started(0, 1)
    worker_registry.note_message("client-0", 3.0)
    look_each_second(worker_registry, 1, int(LOST_AFTER_S))
    assert worker_registry.losses == ()
    worker_registry.note_silence(LOST_AFTER_S + 0.1)
    assert worker_registry.losses == ("worker 1 was silent for 10.1 s",)


def test_a_time_in_which_the_master_itself_stood_still_is_no_silence() -> None:
    worker_registry = started(0, 1)
    look_each_second(worker_registry, 1, 3)
    worker_registry.note_silence(19.0)
    assert worker_registry.losses == ()
    worker_registry.note_message("client-0", 19.1)
    look_each_second(worker_registry, 20, 24)
    assert worker_registry.losses == ()
    look_each_second(worker_registry, 25, 25)
    assert worker_registry.losses == ("worker 1 was silent for 11.0 s",)


def test_silence_before_the_start_is_no_loss() -> None:
    worker_registry = WorkerRegistry(1)
    worker_registry.register(0, "a", 0.0)
    look_each_second(worker_registry, 1, 100)
    assert worker_registry.losses == ()
    worker_registry.note_start(100.0)
    worker_registry.note_silence(101.0)
    assert worker_registry.losses == ()


def test_after_its_final_report_a_worker_may_be_silent_and_leave() -> None:
    worker_registry = started(0)
    worker_registry.note_final_report(0, "client-0")
    worker_registry.note_silence(100.0)
    worker_registry.note_leave(0, "client-0", "done")
    assert (worker_registry.losses, worker_registry.all_done) == ((), True)


def test_nobody_waits_for_the_lost() -> None:
    worker_registry = started(0, 1)
    worker_registry.note_final_report(0, "client-0")
    assert not worker_registry.all_done
    worker_registry.note_leave(1, "client-1", "gone")
    assert worker_registry.all_done


def test_a_late_word_of_a_lost_worker_does_not_bring_it_back() -> None:
    worker_registry = started(0)
    look_each_second(worker_registry, 1, 100)
    worker_registry.note_message("client-0", 101.0)
    worker_registry.note_silence(101.0)
    assert len(worker_registry.losses) == 1


def test_the_first_reason_why_a_worker_is_lost_is_the_one_that_is_told() -> None:
    worker_registry = started(0, 1)
    worker_registry.note_message("client-1", 5.0)
    look_each_second(worker_registry, 1, 11)
    for client in ("client-0", "client-1"):
        worker_registry.note_leave(int(client[-1]), client, "told to terminate")
    worker_registry.register(1, "another", 12.0)
    assert worker_registry.losses == ("worker 0 was silent for 11.0 s", "worker 1 left: told to terminate")


def test_for_another_trial_all_must_be_ready_again() -> None:
    worker_registry = started(0, 1)
    worker_registry.note_final_report(0, "client-0")
    worker_registry.note_ready(0, "client-0")
    worker_registry.note_final_report(1, "client-1")
    worker_registry.expect_next_trial()
    assert not worker_registry.all_ready
    worker_registry.note_ready(1, "client-1")
    assert worker_registry.all_ready
    worker_registry.note_start(1.0)
    assert (worker_registry.all_ready, worker_registry.all_done) == (False, False)


def test_where_another_trial_follows_the_final_report_of_the_last_excuses_nobody() -> None:
    worker_registry = started(0, 1, 2)
    for index in range(3):
        worker_registry.note_final_report(index, f"client-{index}")
    worker_registry.note_leave(0, "client-0", "told to terminate")
    assert worker_registry.losses == ()
    worker_registry.expect_next_trial()
    worker_registry.note_leave(1, "client-1", "told to terminate")
    worker_registry.note_message("client-2", 9.0)
    worker_registry.note_silence(9.0)
    assert worker_registry.losses == ("worker 0 left: told to terminate", "worker 1 left: told to terminate")
    look_each_second(worker_registry, 10, 19)
    worker_registry.note_silence(9.0 + LOST_AFTER_S + 0.1)
    assert worker_registry.losses[2] == "worker 2 was silent for 10.1 s"
