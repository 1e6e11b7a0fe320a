"""DECIDES admission: no I/O, no clock. Told `now` and given the state, it returns a plan."""
