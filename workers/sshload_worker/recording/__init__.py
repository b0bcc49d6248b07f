"""The counters of a worker: histograms, outcomes, and the worker's own health."""
