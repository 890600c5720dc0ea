"""A repository to ask about, and how the server under test is started."""

import os
import pathlib

import pytest

CART = "def total_price(items):\n    return sum(items)\n"


@pytest.fixture
def shop(tmp_path: pathlib.Path) -> pathlib.Path:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "cart.py").write_text(CART)
    (root / "mail.py").write_text("def send(): pass\n")
    return root


def environment(home: pathlib.Path) -> dict[str, str]:
    """Shut off from whoever runs the tests."""
    ours = ("CODEGREP_", "XDG_", "HF_", "OPENAI_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    return kept | {"HOME": str(home), "CODEGREP_HOME": str(home), "CODEGREP_DAEMON": "false"}


def binary() -> str:
    return os.environ["CODEGREP_BIN"]
