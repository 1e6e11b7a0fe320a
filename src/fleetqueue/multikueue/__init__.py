"""One queue, many clusters: sends workloads to workers and brings back what becomes of them."""
