"""Jobs that a manager sends to workers: how long it takes, and what it costs each process."""
