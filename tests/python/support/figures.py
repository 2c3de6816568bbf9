"""What a campaign counted, for the page that `cargo xtask verify` writes: ``USM_TEST_FIGURES`` names the file."""

import os


def add(figure: str) -> None:
    """Tells one figure, such as "1,000,000 chains, none writable"."""
    path = os.environ.get("USM_TEST_FIGURES")
    if path:
        # One line at a time, also where several processes tell theirs.
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{figure}\n")
