"""What people do to a fleet by hand: approve stages, drain clusters, and let them be used again."""
