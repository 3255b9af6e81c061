"""What a benchmark prints: a table for people, then one JSON object for programs."""

import json
from collections.abc import Sequence

Row = tuple[str, ...]


def table(title: str, heads: Row, rows: Sequence[Row]) -> None:
    """The first column to the left, figures to the right."""
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    print(f"\n{title}\n")
    for row in (heads, tuple("-" * width for width in widths), *rows):
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join((first, *others)).rstrip())


def result(name: str, value: float, unit: str, floor: float, **more: float | str | None) -> None:
    """The last line of every benchmark; `ratio` is the value against the floor of the same run."""
    figures = {"name": name, "value": value, "unit": unit, "floor": floor, "ratio": value / floor, **more}
    print()
    print(json.dumps({key: _short(figure) for key, figure in figures.items()}), flush=True)


def _short(figure: float | str | None) -> float | str | None:
    return float(f"{figure:.4g}") if isinstance(figure, float) else figure


def count(number: float) -> str:
    """12 345."""
    return f"{number:,.0f}".replace(",", " ")


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"
