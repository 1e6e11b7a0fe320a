"""How each kind of job is sent to a worker; one module for each family of kinds."""
