"""DOES admission: Kueue's own controllers around `queueing`."""
