"""The admission check that asks the cluster autoscaler for capacity before a workload starts."""
