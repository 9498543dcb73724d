"""Random tests draw from CONVOP_SEED, else from a new seed; a failure prints the command that repeats
it."""
import os
import random
import sys

import numpy as np
import pytest

SEED = int(os.environ.get("CONVOP_SEED") or random.randrange(1 << 31))


def pytest_report_header():
    import convop
    return f"convop {convop.__version__}, {convop.backend}; CONVOP_SEED={SEED}"


@pytest.fixture
def rng(request):
    """The generator of this test: of the seed, and of the test's name."""
    return np.random.default_rng([SEED, *request.node.name.encode()])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.failed and "rng" in getattr(item, "fixturenames", ()):
        report.sections.append(("repeat", f"CONVOP_SEED={SEED} {sys.executable} -m pytest "
                                          f"{item.nodeid!r}"))
