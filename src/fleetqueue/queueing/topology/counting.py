"""How many pods, slices and leaders fit in every domain, from the leaves up."""

from collections import Counter

from fleetqueue.queueing.amounts import Requests
from fleetqueue.queueing.topology.shape import Shape
from fleetqueue.queueing.topology.tree import Domain, Tree


def count(tree: Tree, shape: Shape) -> Counter[str]:
    """Fills in the counts; how many leaves were left out, by reason."""
    excluded: Counter[str] = Counter()
    for leaf in tree.leaves.values():
        reason = shape.leaves_out(leaf)
        if reason:
            excluded[reason] += 1
            _clear(leaf)
        else:
            _count_leaf(leaf, shape, excluded)
        if leaf.level == shape.slice_level:
            _slice(leaf, shape)
    for level in range(len(tree.levels) - 2, -1, -1):
        for domain in tree.at(level):
            _count_inner(domain, shape)
    return excluded


def _clear(leaf: Domain) -> None:
    leaf.pods = leaf.pods_with_leader = leaf.leaders = 0
    leaf.slices = leaf.slices_with_leader = leaf.score = 0


def _count_leaf(leaf: Domain, shape: Shape, excluded: Counter[str]) -> None:
    _clear(leaf)
    leaf.pods, limiting = _fit(leaf, shape.requests, shape.as_if_empty)
    leaf.pods_with_leader = leaf.pods
    if leaf.pods == 0:
        excluded[f'resource "{limiting}"'] += 1
    elif shape.score is not None:
        leaf.score = shape.score(leaf.nodes[0])
    if shape.leader is not None:
        leaders, _ = _fit(leaf, shape.leader, shape.as_if_empty)
        if leaders:
            leaf.leaders = 1
            taken = shape.leader
            leaf.pods_with_leader, _ = _fit(leaf, shape.requests, shape.as_if_empty, taken)


def _fit(
    leaf: Domain, requests: Requests, as_if_empty: bool, taken: Requests | None = None
) -> tuple[int, str]:
    """How many pods fit, and the resource that limits them."""
    fewest, limiting = None, ""
    for resource in sorted(requests):
        wanted = requests[resource]
        if wanted <= 0:
            continue
        left = leaf.free(resource, as_if_empty=as_if_empty) - (taken or {}).get(resource, 0)
        fits = max(0, left // wanted)
        if fewest is None or fits < fewest:
            fewest, limiting = fits, resource
    return fewest or 0, limiting


def _count_inner(domain: Domain, shape: Shape) -> None:
    children = domain.children
    is_below = domain.level >= shape.slice_level
    size = shape.size_at(domain.level + 1) if is_below else 1
    pods = [child.pods // size * size for child in children]
    with_leader = [child.pods_with_leader // size * size for child in children]
    able = [at for at, child in enumerate(children) if child.leaders or not shape.leaders]
    domain.leaders = max((child.leaders for child in children), default=0)
    domain.score = sum(child.score for child in children)
    domain.pods = sum(pods)
    domain.pods_with_leader = sum(pods) - min(
        (pods[at] - with_leader[at] for at in able), default=0
    )
    if domain.level < shape.slice_level:
        domain.slices = sum(child.slices for child in children)
        lost = (children[at].slices - children[at].slices_with_leader for at in able)
        domain.slices_with_leader = domain.slices - min(lost, default=0)
    elif domain.level == shape.slice_level:
        _slice(domain, shape)
    else:
        domain.slices = domain.slices_with_leader = 0


def _slice(domain: Domain, shape: Shape) -> None:
    domain.slices = domain.pods // shape.slice_size
    domain.slices_with_leader = domain.pods_with_leader // shape.slice_size
