"""What benchmarks of several clusters share: the clusters, what they cost, and how that is told."""
