"""What a member decides about the objects it is sent: ownership, merges, comparison, status."""
