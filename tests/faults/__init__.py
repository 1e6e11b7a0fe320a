"""What goes wrong around a server: kills, full disks, files cut short, hostile clients."""
