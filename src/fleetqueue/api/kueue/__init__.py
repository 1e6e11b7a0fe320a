"""The wire types of Kueue, version by version, and the ways between the versions."""
