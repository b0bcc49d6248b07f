"""Decisions and statuses: a pure function of what is planned, remembered and observed."""
