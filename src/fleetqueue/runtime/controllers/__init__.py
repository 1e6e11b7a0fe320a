"""The built-in controllers of a cluster, each a pure decision in the frame."""
