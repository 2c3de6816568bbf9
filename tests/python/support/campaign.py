"""How much a campaign tries: 100 random examples of a property and a few orders, or with ``USM_HYPOTHESIS=verify``
10,000 examples and all orders."""

import os

from hypothesis import HealthCheck, settings

IS_VERIFYING = os.environ.get("USM_HYPOTHESIS") == "verify"
EXAMPLES = 10_000 if IS_VERIFYING else 100

# No deadlines, since other processes share the machine; no database, so that a run depends on nothing but its seed.
campaign = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
