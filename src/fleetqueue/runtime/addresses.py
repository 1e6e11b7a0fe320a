"""Hands out the addresses of pods: each its own, and none again soon after it became free."""

from collections.abc import Hashable
from ipaddress import IPv4Address, IPv4Network


class AddressPool:
    """The hosts of a network, but for those that end in .0 and .255."""

    def __init__(self, network: str) -> None:
        self._network = IPv4Network(network)
        self._next = int(self._network.network_address)
        self._taken: dict[Hashable, str] = {}
        self._owners: dict[str, Hashable] = {}
        self._last: dict[Hashable, str] = {}
        self._last_owner: dict[str, Hashable] = {}

    def take(self, owner: Hashable) -> str:
        """The address of that owner; a new one where it has none."""
        known = self._taken.get(owner)
        if known is not None:
            return known
        last = self._last.get(owner)
        if last is not None and last not in self._owners:
            self.keep(owner, last)
            return last
        for _ in range(self._network.num_addresses):
            self._next += 1
            if self._next > int(self._network.broadcast_address):
                self._next = int(self._network.network_address)
            address = str(IPv4Address(self._next))
            if self._next & 0xFF not in (0, 0xFF) and address not in self._owners:
                self.keep(owner, address)
                return address
        raise AddressesExhausted(f"all addresses of {self._network} are in use")

    def expect(self, owner: Hashable) -> str:
        """The address that an owner has, or will have when it comes."""
        known = self._taken.get(owner) or self._last.get(owner)
        if known is None:
            known = self.take(owner)
            self.release(owner)
        return known

    def keep(self, owner: Hashable, address: str) -> None:
        """What an owner has already, from before we knew it."""
        self.release(owner)
        self._taken[owner] = address
        self._owners[address] = owner
        self._last.pop(self._last_owner.pop(address, None), None)

    def release(self, owner: Hashable) -> None:
        address = self._taken.pop(owner, None)
        if address is not None and self._owners.get(address) == owner:
            del self._owners[address]
            # Whoever comes back under the same name finds its peers knowing its old address.
            self._last[owner] = address
            self._last_owner[address] = owner

    def __len__(self) -> int:
        return len(self._taken)


class AddressesExhausted(Exception):
    """Nothing is left to give."""
