"""What a pod spec asks for, read from raw JSON: resources, nodes, tolerations."""
