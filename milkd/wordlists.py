"""The word lists that come with milkd, one file a language in `milkd/words`.

A language is added by adding a file; milkd.engine.lexicon tells what one looks like.
"""

from __future__ import annotations

from importlib.resources import files

from milkd.engine.lexicon import Lexicon


def load() -> Lexicon:
    """Read the word lists of all languages.

    Raises:
        ValueError: A list cannot be read; names the file and the line.
    """
    lists = (entry for entry in files("milkd").joinpath("words").iterdir())
    return Lexicon.parse(
        {
            entry.name: entry.read_text(encoding="utf-8")
            for entry in sorted(lists, key=lambda entry: entry.name)
            if entry.name.endswith(".txt")
        }
    )
