"""What is measured: the definitions of all metrics, and the registry that keeps and shows them."""
