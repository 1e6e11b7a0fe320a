"""One controller for each of Kueue's kinds."""
