"""Which tests lanes get: files in turn, whole groups, and in the end a share of what others have left."""

from testing.streams import Streams


def test_a_lane_stays_with_its_file_while_others_are_to_begin() -> None:
    streams = Streams([("a", False)] * 3 + [("b", False)] * 2, 2)
    assert [streams.take(lane) for lane in (0, 1, 0, 1, 0)] == [[0], [3], [1], [4], [2]]


def test_a_lane_without_a_file_takes_from_the_one_that_has_the_most_left() -> None:
    streams = Streams([("a", False)] * 3 + [("b", False)] * 4, 3)
    assert [streams.take(lane) for lane in (0, 1, 2)] == [[0], [3], [4]]


def test_a_group_goes_to_one_lane_wherever_its_tests_are() -> None:
    streams = Streams([("group", True), ("a", False), ("group", True)], 2)
    assert [streams.take(lane) for lane in (0, 1, 0)] == [[0, 2], [1], []]


def test_many_short_tests_are_handed_out_together_and_the_last_ones_one_by_one() -> None:
    streams, sizes = Streams([("a", False)] * 1000, 2), list[int]()
    while tests := streams.take(len(sizes) % 2):
        sizes.append(len(tests))
    assert (sum(sizes), sizes[0], sizes[-1]) == (1000, 25, 1)
    assert sizes == sorted(sizes, reverse=True)


def test_what_a_lane_could_not_run_is_handed_out_again_in_its_order() -> None:
    streams = Streams([("group", True)] * 3 + [("a", False)], 2)
    assert streams.take(0) == [0, 1, 2]
    streams.give_back(0, [1, 2])
    assert [streams.take(lane) for lane in (1, 1)] == [[1, 2], [3]]
