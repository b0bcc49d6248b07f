"""What processes send to each other: configurations, reports, summaries, the master's log, and their JSON."""
