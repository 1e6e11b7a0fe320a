"""Whose turn it is: the ClusterQueues in which something may be tried, by trees of cohorts, and
those whose head waits for something to change.
"""

from collections.abc import Callable


class Turns:
    """`root_of` names the tree of a ClusterQueue. Trees know nothing of each other."""

    def __init__(self, root_of: Callable[[str], str]) -> None:
        self._root_of = root_of
        self._hot: set[str] = set()
        """ClusterQueues in which something may wait to be tried."""
        self._blocked: dict[str, set[str]] = {}
        """By the root of their tree, ClusterQueues whose head waits for something to change."""
        self._last_root = ""
        """Where the last heads were taken from, if not from everywhere."""

    def give(self, queue: str) -> None:
        """Something in it may be tried."""
        self._hot.add(queue)

    def take(self, queue: str) -> None:
        """Nothing in it is to be tried until it is told so."""
        self._hot.discard(queue)

    def block(self, queue: str) -> None:
        """Its head is tried again when something in its tree changes, or is tried."""
        self._blocked.setdefault(self._root_of(queue), set()).add(queue)

    def unblock(self, queue: str) -> None:
        """Something changed in the tree of this queue."""
        self._hot |= self._blocked.pop(self._root_of(queue), set())

    def remove(self, queue: str) -> None:
        """It is no more; what its tree was cannot be told by now."""
        self._hot.discard(queue)
        for root in [root for root, held in self._blocked.items() if queue in held]:
            self._blocked[root].discard(queue)
            if not self._blocked[root]:
                del self._blocked[root]

    def trees(self) -> list[tuple[str, list[str]]]:
        """Whose turn it is, tree by tree: those first that were not tried the last time. Heads that
        wait for a change come along where others of their tree are tried.
        """
        for name in list(self._hot):
            self.unblock(name)
        found: dict[str, list[str]] = {}
        for name in sorted(self._hot):
            found.setdefault(self._root_of(name), []).append(name)
        return sorted(found.items(), key=lambda tree: (tree[0] <= self._last_root, tree[0]))

    def stop_at(self, root: str) -> None:
        """The trees after this one wait for the next time."""
        self._last_root = root
