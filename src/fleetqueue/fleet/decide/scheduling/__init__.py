"""Which clusters a placement gets: filters, scores, order, and what becomes of its bindings."""
