"""The process that the clusters of one machine are forked from: what they share is loaded and made
once, in the parent, and each cluster is an operating-system process of its own.

    from fleetqueue.nursery.parent import Nursery

    options = {"manager": ServeOptions(...), "worker-1": ServeOptions(...)}  # as `serve` has them
    with Nursery() as nursery:                    # this process becomes the parent
        nursery.prepare(options.values())         # load; make what new clusters have in common
        manager = nursery.start("manager", options["manager"])
        worker = nursery.start("worker-1", options["worker-1"], output=Path("worker-1.log"))
        nursery.wait_ready()          # every /readyz answers ok; raises what a child failed with
        manager.url, manager.kubeconfig, manager.pid
        nursery.run(on_end=told)      # until SIGINT or SIGTERM; told(child) when one has ended

- Call it from a process without threads and without a running event loop, and keep it so: the
  nursery itself never starts either, so `start` works at any time, also from `on_end`.
- `start` forks at once and returns; children start side by side. A new cluster that was not named
  to `prepare` makes everything by itself, which takes longer.
- Import nothing heavy before that a cluster would not need: it would be in all of them.
- Nothing is restarted unless told: `nursery.restart(child)` ends a child, if it still runs, and
  starts one of the same name, options and output.
- `child.end()` sends SIGTERM, `child.signal(number)` any signal; `nursery.wait_ended(child)` waits.
- `child.exit_code` is None while it runs, then as `subprocess` has it (-9: killed).
- Inside the block SIGINT and SIGTERM end `run`, and `wait_ready` with KeyboardInterrupt; leaving
  the block, for whatever reason, ends all children gracefully and waits for them. A child whose
  parent is gone, however that came, ends itself. After `CLOSING_SECONDS` a child is killed.
- `nursery.run(is_over=asked)` also ends when `asked()`, called every few seconds, is true.
- `nursery.follow(descriptor, callback)` calls back from `run` when a descriptor can be read, for a
  caller that listens to somebody meanwhile.
"""
