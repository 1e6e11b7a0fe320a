"""Every run draws the same examples: the same code has the same result. FLEETQUEUE_EXPLORE=1 draws
new ones.
"""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
if not os.environ.get("FLEETQUEUE_EXPLORE"):
    settings.load_profile("fixed")
