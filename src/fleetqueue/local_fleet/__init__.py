"""A manager and its workers on one machine: started by one command, joined, and kept running."""
