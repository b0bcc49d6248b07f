"""Cron expressions: what they are written out to, and which are refused, by what words."""

import re

import pytest
from sshload_operator.api.schedule.cron import canonical


@pytest.mark.parametrize(
    ("written", "means"),
    [
        pytest.param("*/15 * * * *", "0,15,30,45 * * * *", id="steps"),
        pytest.param("5/20 * * * *", "5,25,45 * * * *", id="steps-from-a-number-on"),
        pytest.param("10-20/5 * * * *", "10,15,20 * * * *", id="steps-of-a-range"),
        pytest.param("5-5/2 * * * *", "5 * * * *", id="steps-of-a-range-of-one"),
        pytest.param("0 9-17 * * 1-5", "0 9,10,11,12,13,14,15,16,17 * * 1,2,3,4,5", id="ranges"),
        pytest.param("0 0 * JAN,mar Mon-FRI", "0 0 * 1,3 1,2,3,4,5", id="names"),
        pytest.param("0 0 ? * ?", "0 0 * * *", id="question-marks"),
        pytest.param("0 0 1,* * *", "0 0 * * *", id="a-star-in-a-list"),
        pytest.param("0 0 */1 * *", "0 0 * * *", id="a-star-by-steps-of-one"),
        pytest.param("07 05 03 02 01", "7 5 3 2 1", id="leading-zeros"),
        pytest.param("0  9 * *  *", "0 9 * * *", id="more-than-one-space"),
        pytest.param("@hourly", "0 * * * *", id="hourly"),
        pytest.param("@daily", "0 0 * * *", id="daily"),
        pytest.param("@midnight", "0 0 * * *", id="midnight"),
        pytest.param("@weekly", "0 0 * * 0", id="weekly"),
        pytest.param("@monthly", "0 0 1 * *", id="monthly"),
        pytest.param("@yearly", "0 0 1 1 *", id="yearly"),
        pytest.param("@annually", "0 0 1 1 *", id="annually"),
        pytest.param("0 0 29 2 *", "0 0 29 2 *", id="29-february"),
        pytest.param("0 0 30 2 1", "0 0 30 2 1", id="30-february-or-a-monday"),
        pytest.param("0 0 31 2,5 *", "0 0 31 2,5 *", id="31-february-or-may"),
    ],
)
def test_an_expression_is_written_out(written: str, means: str) -> None:
    assert canonical(written) == means


def test_every_second_day_is_no_star_so_that_either_day_is_enough() -> None:
    days = canonical("0 0 */2 * 1").split()[2]
    assert days.split(",") == [str(day) for day in range(1, 32, 2)]


@pytest.mark.parametrize(
    ("written", "says"),
    [
        pytest.param("* * * *", "neither a cron expression of five fields", id="four-fields"),
        pytest.param("0 * * * * *", "neither a cron expression of five fields", id="six-fields"),
        pytest.param("", "neither a cron expression of five fields", id="empty"),
        pytest.param("@reboot", "neither a cron expression of five fields", id="an-unknown-macro"),
        pytest.param("@Daily", "neither a cron expression of five fields", id="a-macro-in-capitals"),
        pytest.param("TZ=UTC 0 * * * *", "neither a cron expression of five fields", id="a-time-zone"),
        pytest.param("60 * * * *", "the minute '60', but it must be from 0 to 59", id="minute-60"),
        pytest.param("0 24 * * *", "the hour '24'", id="hour-24"),
        pytest.param("0 0 0 * *", "the day of the month '0'", id="day-0"),
        pytest.param("0 0 * 13 *", "the month '13'", id="month-13"),
        pytest.param("0 0 * * 7", "the day of the week '7'", id="weekday-7"),
        pytest.param("0 0 * * mo", "the day of the week 'mo'", id="a-short-name"),
        pytest.param("0 0 * mon *", "the month 'mon'", id="a-weekday-as-a-month"),
        pytest.param("jan * * * *", "the minute 'jan'", id="a-month-as-a-minute"),
        pytest.param("0 0 L * *", "the day of the month 'l'", id="the-last-day"),
        pytest.param("0 0 * * 1#2", "the day of the week '1#2'", id="the-second-monday"),
        pytest.param("5-1 * * * *", "'5-1', which ends before it begins", id="a-range-backwards"),
        pytest.param("0 0 * * fri-mon", "'fri-mon', which ends before it begins", id="names-backwards"),
        pytest.param("0 0 * * 1-fri", "'1-fri', which is not valid", id="a-name-and-a-number"),
        pytest.param("*/0 * * * *", "a step must be at least 1", id="a-step-of-0"),
        pytest.param("1,,2 * * * *", "the minute '', which is not valid", id="an-empty-item"),
        pytest.param("1-2-3 * * * *", "'1-2-3', which is not valid", id="two-hyphens"),
        pytest.param("*/2/3 * * * *", "'*/2/3', which is not valid", id="two-slashes"),
        pytest.param("-1 * * * *", "'-1', which is not valid", id="a-negative-number"),
        pytest.param(" 0 0 * * *", "is neither a cron expression of five fields", id="a-space-before-it"),
        pytest.param("0 0 * * *\n", "'*\\n', which is not valid", id="a-line-break-after-it"),
        pytest.param("0\t0 * * *", "is neither a cron expression of five fields", id="a-tab"),
        pytest.param("0 0 30 2 *", "never fires", id="30-february"),
        pytest.param("0 0 31 4,jun,9-9,11 ?", "never fires", id="31-of-short-months"),
    ],
)
def test_what_cronjob_refuses_or_never_fires_is_refused(written: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        canonical(written)
