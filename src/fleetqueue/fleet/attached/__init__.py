"""A hub and a member on foreign API servers: what they need there, and what runs beside them."""
