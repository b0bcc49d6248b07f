"""The spec of an SSHLoadTestSchedule: its calendar, its policies, and the test that it makes."""
