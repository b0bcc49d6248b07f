"""The commands that ask a cluster: watch, compare, list, apply, abort and rerun."""
