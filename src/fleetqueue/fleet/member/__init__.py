"""The agent of a member: it pulls from the hub, applies, and reports."""
