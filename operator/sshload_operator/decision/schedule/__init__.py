"""What is to be done about an SSHLoadTestSchedule: pure, in virtual time, by CronJob's rules."""
