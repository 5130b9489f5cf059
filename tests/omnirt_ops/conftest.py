import os

# Nothing here may ask a hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import pytest  # noqa: E402
import torch  # noqa: E402


@pytest.fixture(autouse=True)
def inference():
    torch.manual_seed(7)
    with torch.no_grad():
        yield


def relative(got, wanted):
    """The largest difference, relative to the largest number."""
    assert got.shape == wanted.shape
    return ((got - wanted).abs().max() / wanted.abs().max()).item()


@pytest.fixture
def assert_near():
    def check(got, wanted, most=2e-5):
        assert relative(got, wanted) <= most

    return check
