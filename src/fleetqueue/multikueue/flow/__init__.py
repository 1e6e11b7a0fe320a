"""What becomes of a workload that is sent to workers."""
