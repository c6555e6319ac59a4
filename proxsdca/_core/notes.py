"""Notes on exceptions: where they came from."""

from __future__ import annotations


def note(error: BaseException, text: str) -> None:
    """Add a note to an exception, which its traceback shows."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:  # Python 3.10
        error.__notes__ = [*getattr(error, "__notes__", []), text]  # type: ignore[attr-defined]
