"""What goes wrong around a server: processes killed, disks full, files cut short, hostile clients."""
