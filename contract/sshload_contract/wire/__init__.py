"""What one process hands to another: run and target configurations, reports, the master's log, and their JSON."""
