"""From a spec to one run of it: names and numbers settled, the impossible refused. Pure."""
