"""The objects of the three kinds as values: specs parsed once and strictly, and statuses."""
