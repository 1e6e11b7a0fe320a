"""TopologyAssignment: which domains the pods of a pod set go to, packed to stay small."""

from typing import Annotated

from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Int32

ONE_OF = "exactly one of the fields in [universal individual] must be set"
ONE_OF_RULE = Rule("has(self.universal) != has(self.individual)", ONE_OF)

LevelValue = Annotated[str, Schema(max_length=63)]


class IndividualValues(Model):
    """A value per domain: prefix, root and suffix put together."""

    prefix: LevelValue = ""
    suffix: LevelValue = ""
    roots: Annotated[list[LevelValue], Schema(min_items=1, max_items=100_000, list_type="atomic")]


@schema(ONE_OF_RULE)
class LevelValues(Model):
    """The values of one level, over the domains of a slice."""

    universal: LevelValue | None = None
    individual: IndividualValues | None = None


@schema(ONE_OF_RULE)
class PodCounts(Model):
    """The pods of each domain of a slice."""

    universal: Annotated[Int32 | None, Schema(minimum=1)] = None
    individual: Annotated[
        list[Annotated[Int32, Schema(minimum=1)]] | None,
        Schema(min_items=1, max_items=100_000, list_type="atomic"),
    ] = None


@schema(
    Rule(
        "!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount",
        "podCounts.individual must have length equal to domainCount",
    ),
    Rule(
        "self.valuesPerLevel.all(values,"
        " !has(values.individual) || size(values.individual.roots) == self.domainCount)",
        "valuesPerLevel.individual, if set, must have roots of length equal to domainCount of"
        " this TopologyAssignmentSlice",
    ),
)
class TopologyAssignmentSlice(Model):
    """A run of domains."""

    domain_count: Annotated[Int32, Schema(minimum=1)]
    values_per_level: Annotated[
        list[LevelValues], Schema(min_items=1, max_items=16, list_type="atomic")
    ]
    pod_counts: PodCounts


@schema(
    Rule(
        "self.slices.all(slice, size(slice.valuesPerLevel) == size(self.levels))",
        "valuesPerLevel must have the same length as the number of levels in this"
        " TopologyAssignment",
    )
)
class TopologyAssignment(Model):
    """The domains of a pod set, in order."""

    levels: Annotated[
        list[Annotated[str, Schema(max_length=317)]],
        Schema(min_items=1, max_items=16, list_type="atomic"),
    ]
    slices: Annotated[list[TopologyAssignmentSlice], Schema(max_items=1000, list_type="atomic")]
