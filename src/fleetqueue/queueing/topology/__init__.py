"""Where pods go in a topology of racks, blocks and hosts."""
