"""The words of a schedule's status."""

from enum import StrEnum, unique


@unique
class ScheduleCondition(StrEnum):
    """The conditions that every status of a schedule carries. The last three are kstatus's.

    They speak of the schedule, but for PASSED, which speaks of the last run that came to an end: a schedule that finds
    its server slow is a healthy schedule.
    """

    VALID = "Valid"
    PASSED = "Passed"
    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


@unique
class ScheduleReason(StrEnum):
    """Why a status is as it is, and what an Event is about."""

    SCHEDULED = "Scheduled"
    SUSPENDED = "Suspended"
    SPEC_ACCEPTED = "SpecAccepted"
    INVALID_SPEC = "InvalidSpec"
    NEVER_FIRES = "NeverFires"
    CREATE_REFUSED = "CreateRefused"
    NAME_TAKEN = "NameTaken"
    NO_RUN_YET = "NoRunYet"
    LAST_RUN_PASSED = "LastRunPassed"
    LAST_RUN_FAILED = "LastRunFailed"
    LAST_RUN_UNDECIDED = "LastRunUndecided"
    # Events, called as CronJob calls them where it has such
    CREATED = "SuccessfulCreate"
    DELETED = "SuccessfulDelete"
    MISSED = "MissSchedule"
    TOO_MANY_MISSED = "TooManyMissedTimes"
    ALREADY_ACTIVE = "TestAlreadyActive"
