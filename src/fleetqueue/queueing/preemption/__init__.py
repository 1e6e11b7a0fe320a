"""Whom a workload may preempt, and which of them are the fewest that help."""
