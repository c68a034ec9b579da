"""What becomes of a test that needs what is not installed."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def absent(told: str) -> NoReturn:
    """Skip the test; with MILKD_EXPECT_ALL=1, where everything was installed, fail it.

    Args:
        told: What is missing and how to get it.
    """
    if os.environ.get("MILKD_EXPECT_ALL") == "1":
        pytest.fail(f"{told} (MILKD_EXPECT_ALL is set)")
    pytest.skip(told)
