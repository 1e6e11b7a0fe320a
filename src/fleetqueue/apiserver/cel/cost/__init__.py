"""What an expression may cost at worst, in cel-go's units, without running it.

`estimate` takes a checked expression and the bounds that a schema puts on its values.
"""

from fleetqueue.apiserver.cel.cost.bounds import Bound, bound_of
from fleetqueue.apiserver.cel.cost.estimates import estimate

__all__ = ["Bound", "bound_of", "estimate"]
