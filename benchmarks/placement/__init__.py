"""Objects that a hub places on members: how long it takes, and what it costs each process."""
