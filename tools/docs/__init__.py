"""The roll-call of the pages of docs/ that are written from code."""

from types import ModuleType

# A page is a module here with PATH (below docs/) and text() -> str; `make docs` writes it.
ROLL_CALL: tuple[ModuleType, ...] = ()
