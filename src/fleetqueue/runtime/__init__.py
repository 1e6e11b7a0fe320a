"""Makes a local cluster live: nodes, pods as processes, and the controllers other projects run."""
