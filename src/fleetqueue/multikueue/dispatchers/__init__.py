"""Who picks the workers that a workload is offered to; one module for each way."""
