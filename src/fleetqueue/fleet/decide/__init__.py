"""What placement decides, as pure functions of objects: nothing here reads, writes or waits."""
