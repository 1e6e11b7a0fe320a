"""The command line: `fleetqueue`, short `fq`."""
