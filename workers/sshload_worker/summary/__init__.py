"""From the workers' reports to what is published: merged, counted and summarised. Pure."""
