"""What the references refuse: columns of another type, or of different lengths."""

from __future__ import annotations

from array import array


def check_column(name: str, column: object, typecode: str) -> None:
    """Refuse what is not an array of that typecode.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(column, array) or column.typecode != typecode:
        raise TypeError(f"{name}: expected array({typecode!r}), found {_described(column)}")


def check_columns(**columns: tuple[array[float] | array[int], str]) -> None:
    """Refuse columns, each given with its typecode, that can't be read row by row together.

    Raises:
        TypeError: One is not an array of its typecode.
        ValueError: They differ in length.
    """
    for name, (column, typecode) in columns.items():
        check_column(name, column, typecode)
    lengths = [len(column) for column, _ in columns.values()]
    if len(set(lengths)) > 1:
        rows = " and ".join(map(str, lengths))
        raise ValueError(f"columns of {rows} rows, all must have the same length")


def _described(column: object) -> str:
    if isinstance(column, array):
        return f"array({column.typecode!r})"
    return type(column).__name__
