"""Pods that are queued together: one Workload for all that name the same group."""
