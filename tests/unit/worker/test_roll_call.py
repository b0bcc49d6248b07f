from sshload_worker.coordination.roll_call import LOST_AFTER_S, RollCall


def started(*indexes: int) -> RollCall:
    roll_call = RollCall(len(indexes))
    for index in indexes:
        roll_call.hello(index, f"client-{index}", 0.0)
        roll_call.ready(index)
    roll_call.started(0.0)
    return roll_call


def look_each_second(roll_call: RollCall, begin_s: int, end_s: int) -> None:
    for now_s in range(begin_s, end_s + 1):
        roll_call.note_silence(float(now_s))


def test_all_are_ready_only_when_each_has_come_and_said_so() -> None:
    roll_call = RollCall(2)
    roll_call.hello(0, "a", 0.0)
    roll_call.ready(0)
    assert (roll_call.connected, roll_call.all_connected, roll_call.absent) == (1, False, (1,))
    roll_call.hello(1, "b", 0.0)
    assert (roll_call.all_connected, roll_call.all_ready) == (True, False)
    roll_call.ready(1)
    assert roll_call.all_ready


def test_an_index_that_nobody_expects_is_not_counted() -> None:
    roll_call = RollCall(1)
    roll_call.hello(1, "b", 0.0)
    assert roll_call.connected == 0


def test_before_the_start_a_newcomer_takes_the_place_of_its_index() -> None:
    roll_call = RollCall(1)
    roll_call.hello(0, "a", 0.0)
    roll_call.ready(0)
    roll_call.hello(0, "b", 1.0)
    assert (roll_call.connected, roll_call.all_ready) == (1, False)


def test_before_the_start_one_that_left_is_absent_again() -> None:
    roll_call = RollCall(1)
    roll_call.hello(0, "a", 0.0)
    roll_call.left(0, "told to")
    assert (roll_call.absent, roll_call.losses) == ((0,), ())


def test_all_have_logged_in_only_when_each_newcomer_has_too() -> None:
    roll_call = RollCall(2)
    for index in range(2):
        roll_call.hello(index, f"client-{index}", 0.0)
        roll_call.logged_in(index, accepted=index == 0)
    assert (roll_call.all_logged_in, roll_call.accepted) == (True, 1)
    roll_call.hello(0, "another client", 1.0)
    assert (roll_call.all_logged_in, roll_call.accepted) == (False, 1)


def test_the_login_of_a_worker_whose_place_another_took_has_been_accepted_all_the_same() -> None:
    roll_call = RollCall(1)
    for client in ("first", "second"):
        roll_call.hello(0, client, 0.0)
        roll_call.logged_in(0, accepted=True)
    assert roll_call.accepted == 2


def test_after_the_start_a_newcomer_means_that_the_first_one_is_lost() -> None:
    roll_call = started(0)
    roll_call.hello(0, "b", 1.0)
    assert roll_call.losses == ("worker 0 was replaced during the run",)


def test_one_that_leaves_during_the_run_is_lost_with_its_reason() -> None:
    roll_call = started(0, 1)
    roll_call.left(1, "told to terminate")
    assert roll_call.losses == ("worker 1 left: told to terminate",)


def test_silence_is_a_loss_only_when_it_lasts() -> None:
    roll_call = started(0, 1)
    roll_call.seen("client-0", 3.0)
    look_each_second(roll_call, 1, int(LOST_AFTER_S))
    assert roll_call.losses == ()
    roll_call.note_silence(LOST_AFTER_S + 0.1)
    assert roll_call.losses == ("worker 1 was silent for 5.1 s",)


def test_a_time_in_which_the_master_itself_stood_still_is_no_silence() -> None:
    roll_call = started(0, 1)
    look_each_second(roll_call, 1, 3)
    roll_call.note_silence(9.0)
    assert roll_call.losses == ()
    roll_call.seen("client-0", 9.1)
    look_each_second(roll_call, 10, 12)
    assert roll_call.losses == ("worker 1 was silent for 6.0 s",)


def test_silence_before_the_start_is_no_loss() -> None:
    roll_call = RollCall(1)
    roll_call.hello(0, "a", 0.0)
    roll_call.note_silence(100.0)
    roll_call.started(100.0)
    roll_call.note_silence(101.0)
    assert roll_call.losses == ()


def test_after_its_final_report_a_worker_may_be_silent_and_leave() -> None:
    roll_call = started(0)
    roll_call.final(0)
    roll_call.note_silence(100.0)
    roll_call.left(0, "done")
    assert (roll_call.losses, roll_call.all_done) == ((), True)


def test_nobody_waits_for_the_lost() -> None:
    roll_call = started(0, 1)
    roll_call.final(0)
    assert not roll_call.all_done
    roll_call.left(1, "gone")
    assert roll_call.all_done


def test_a_late_word_of_a_lost_worker_does_not_bring_it_back() -> None:
    roll_call = started(0)
    look_each_second(roll_call, 1, 100)
    roll_call.seen("client-0", 101.0)
    roll_call.note_silence(101.0)
    assert len(roll_call.losses) == 1


def test_for_another_trial_all_must_be_ready_again() -> None:
    roll_call = started(0, 1)
    roll_call.final(0)
    roll_call.ready(0)
    roll_call.final(1)
    roll_call.another_trial()
    assert not roll_call.all_ready
    roll_call.ready(1)
    assert roll_call.all_ready
    roll_call.started(1.0)
    assert (roll_call.all_ready, roll_call.all_done) == (False, False)


def test_where_another_trial_follows_the_final_report_of_the_last_excuses_nobody() -> None:
    roll_call = started(0, 1, 2)
    for index in range(3):
        roll_call.final(index)
    roll_call.left(0, "told to terminate")
    assert roll_call.losses == ()
    roll_call.another_trial()
    roll_call.left(1, "told to terminate")
    roll_call.seen("client-2", 9.0)
    roll_call.note_silence(9.0)
    assert roll_call.losses == ("worker 0 left: told to terminate", "worker 1 left: told to terminate")
    look_each_second(roll_call, 10, 14)
    roll_call.note_silence(9.0 + LOST_AFTER_S + 0.1)
    assert roll_call.losses[2] == "worker 2 was silent for 5.1 s"
