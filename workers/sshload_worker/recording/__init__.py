"""Where a worker counts what happened: histograms, outcomes, and its own health."""
