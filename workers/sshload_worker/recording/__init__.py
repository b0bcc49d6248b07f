"""The counters of a worker: histograms, outcomes, and its own health."""
