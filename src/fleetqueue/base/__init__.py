"""Domain-free helpers; each module could be a library of its own."""
