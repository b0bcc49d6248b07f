"""What one process hands to another: configurations, reports, summaries, the log of the master, and their JSON."""
