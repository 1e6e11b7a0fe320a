"""API servers beside this one: what an APIService with a Service registers is asked of them."""
