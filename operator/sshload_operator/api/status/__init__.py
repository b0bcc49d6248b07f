"""The statuses of the three kinds, declared once: the CRDs, the reference, the writers and the readers follow."""
