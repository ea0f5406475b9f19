"""One distribution, and a top-level name that is common enough to be somebody else's."""

from importlib.metadata import packages_distributions

import pytest

import shared


@pytest.mark.parametrize("package", ["services", "shared", "infra", "chaos", "loadtests"])
def test_a_package_of_this_name_comes_from_us_alone(package: str) -> None:
    assert set(packages_distributions().get(package, ["effectively-once"])) == {"effectively-once"}


def test_the_shared_package_that_is_imported_is_the_one_of_this_checkout() -> None:
    assert shared.__doc__ is not None
    assert "two services" in shared.__doc__
