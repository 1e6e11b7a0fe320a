"""Any kind of job ↔ a Workload: suspended until it is admitted, started, stopped, finished."""
