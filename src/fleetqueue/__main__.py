"""`python -m fleetqueue` is `fleetqueue`."""

from fleetqueue.cli.main import main

if __name__ == "__main__":
    main()
