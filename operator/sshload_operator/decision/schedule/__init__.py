"""What must be done for an SSHLoadTestSchedule, by the rules of CronJob. Pure: the time is an argument."""
