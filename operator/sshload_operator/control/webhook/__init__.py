"""The ends of runs, posted to the installation's webhook."""
