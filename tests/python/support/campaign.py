"""The number of random examples of a property: 200, or 10,000 with ``USM_HYPOTHESIS=verify``."""

import os

from hypothesis import HealthCheck, settings

EXAMPLES = 10_000 if os.environ.get("USM_HYPOTHESIS") == "verify" else 200

# No deadlines, since other processes share the machine; no database, so that a run depends on nothing but its seed.
campaign = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
