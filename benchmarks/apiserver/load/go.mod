module fleetqueue.dev/benchmarks/load

go 1.22
