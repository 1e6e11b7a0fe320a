"""`kueuectl`, also `kubectl-kueue` and `fleetqueue kueue`: queues and workloads from the shell."""
