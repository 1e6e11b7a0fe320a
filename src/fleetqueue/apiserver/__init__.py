"""A Kubernetes API server small enough to embed."""
