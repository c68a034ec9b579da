"""What stands in a text for one thing only: its numbers and its identifiers.

"Python 3.11" and "Python 3.12" share most of their words and are two facts.  The
number-like and identifier-like tokens are taken from the raw text, whole (`3.10`,
`2026-11-30`, `192.168.7.1`, `src/a/config`, `--force`, `C++`), and brought into one form, so
that "8 GB" is "8GB", "v2.1" is "2.1" and "(3.10)," is "3.10".  Spelled numbers don't count:
"three" is a word like any other.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

# One thing, many spellings: a unit belongs to its number, with a space between or without.
_UNIT_SPELLINGS = """
% percent pct | ms msec millisecond milliseconds | s sec secs second seconds
min mins minute minutes | h hr hrs hour hours | d day days | week weeks | month months
year years yr yrs | kb | mb | gb | tb | kib | mib | gib | tib | hz | khz | mhz | ghz
px | em | rem | km | cm | mm | kg | mg | am a.m | pm p.m | bn billion | million | thousand
"""
UNITS = {
    spelling: group.split()[0]
    for line in _UNIT_SPELLINGS.splitlines()
    for group in line.split("|")
    if group.strip()
    for spelling in group.split()
}

# Scripts whose words touch each other, and numbers, without belonging together.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3001-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# Korean has spaces, but its words carry particles and endings.
HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
# Dashes that stand in numbers and ranges.
_DASHES = str.maketrans("\u2010\u2011\u2013\u2212", "----")
_URL = re.compile(r"[a-z][a-z0-9+.-]{0,20}://[^\s<>\"'`()\[\]{}]+", re.IGNORECASE)
_CHUNK = re.compile(rf"[^\s()\[\]{{}}<>\"“”„«»‹›`'‘’,;|=!?*…—·{UNSPACED}{HANGUL}]+")  # noqa: RUF001
# What only illustrates: "(e.g. isLoading, hasError)".
_EXAMPLES = re.compile(
    r"\((?:e\.?g\b|for (?:example|instance)|such as|z\. ?b\.|p\. ?ex\.|par exemple|por ejemplo)"
    r"[^()]*",
    re.IGNORECASE,
)
_DOUBLE_DASH = re.compile(r"(?<=\w)--+(?=\w)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d\d\d(?!\d))")
# What may stick to a word without being part of it.
_EDGES = ".:-+~/#$&^@€£¥°_\\±≈×"
_PLUS_OR_SHARP = re.compile(r"(\w+\+\+|[A-Za-z]#)(.*)", re.DOTALL)
_NUMBER = re.compile(r"([^\d]*?)(?:(?<![a-z])v(?:er(?:sion)?)?[.-]?)?(\d.*)", re.DOTALL)
_WITH_UNIT = re.compile(r"(\d+(?:[.:]\d+)*)-?([^\W\d_]+|%)(?:-.*)?", re.DOTALL)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_CAMEL = re.compile(r"[a-z][A-Z]")
# Single letters that are a word in some language and may open a sentence.
_LETTER_WORDS = "AEOUY"


class Literals(NamedTuple):
    """The numbers and identifiers of one text, each with the form in which it stands there."""

    numbers: dict[str, str]
    """From the first digit on: "ubuntu-22.04" is 22.04."""
    named: dict[str, str]
    """Those of them with a name before the number, whole: "ubuntu-22.04", not "v2"."""
    identifiers: dict[str, str]


def literals(text: str) -> Literals:
    """Find the number-like and identifier-like tokens of a text."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_DASHES)
    found = Literals({}, {}, {})
    if "://" in text:
        for url in _URL.findall(text):
            found.identifiers[url.rstrip(".:,;!?/").casefold()] = url
        text = _URL.sub(" ", text)
    if "--" in text:
        text = _DOUBLE_DASH.sub(" ", text)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    if "(" in text:
        text = _EXAMPLES.sub(" ", text)
    chunks = ["", *_CHUNK.findall(text), ""]
    for place, chunk in enumerate(chunks):
        # Most words are plain and need no closer look.
        if not (chunk.isalpha() and (chunk.islower() or chunk[1:].islower())):
            _sort(chunk, chunks[place - 1], chunks[place + 1 : place + 2], found)
    return found


def name_before(named: str) -> str:
    """The name in front of the number: "ubuntu" of "ubuntu-22.04"."""
    match = _NUMBER.fullmatch(named)
    return match[1].strip(_EDGES) if match else ""


def _sort(chunk: str, before: str, after: list[str], found: Literals) -> None:
    """Enter a chunk of text where it belongs, knowing its neighbours."""
    bare = chunk.strip(_EDGES)
    if not bare:
        return
    if match := _PLUS_OR_SHARP.match(chunk):
        found.identifiers[match[1].casefold()] = match[1]
        _number(match[2].strip(_EDGES), after, found)
    elif _is_path(chunk, bare) or ("@" in bare and "." in bare):
        found.identifiers[bare.casefold()] = chunk.rstrip(".:")
    elif ":" in bare.replace("::", "") and not bare.partition(":")[0].isdigit():
        for part in bare.split(":"):
            _sort(part, "", after, found)
    elif any(map(str.isdigit, bare)):
        if "_" in bare:
            found.identifiers[bare.casefold()] = bare
        below_zero = chunk[0] == "-" and chunk[1:2].isdigit()
        _number("-" + bare if below_zero else bare, after, found)
    elif _is_name(chunk, bare) or _is_letter(chunk, before, after):
        found.identifiers[bare.casefold()] = chunk.rstrip(".:")


def _number(raw: str, after: list[str], found: Literals) -> None:
    sign = "-" if raw[:1] == "-" else ""
    folded = raw.removeprefix("-").casefold()
    match = _NUMBER.fullmatch(folded)
    if match is None:
        return
    core = match[2]
    unit = UNITS.get(after[0].strip(".:").casefold()) if after else None
    if ordinal := _ORDINAL.fullmatch(core):
        core = ordinal[1]
    elif (with_unit := _WITH_UNIT.fullmatch(core)) and with_unit[2] in UNITS:
        core = with_unit[1] + UNITS[with_unit[2]]
    elif unit and core.replace(".", "").replace(":", "").isdigit():
        core, raw = core + unit, f"{raw} {after[0]}"
    found.numbers[sign + core] = raw
    if match[1].strip(_EDGES):
        found.named[folded] = raw


def _is_path(chunk: str, bare: str) -> bool:
    """`src/a`, `/etc`, `~/notes`; not `and/or`, and `24/7` is a number."""
    if "/" not in bare:
        return "/" in chunk and chunk[0] in "/~." and bare[0].isalpha()
    return bare != "and/or" and any(map(str.isalpha, bare))


def _is_name(chunk: str, bare: str) -> bool:
    """`--force`, `.env`, `@name`, `$HOME`, `snake_case`, `std::move`, `camelCase`, `os.path`."""
    if chunk[0] == "-":
        return chunk[:2] == "--" or len(chunk) == 2
    if chunk[0] in ".@$" and len(bare) > 1:
        return True
    if "_" in bare or "::" in bare or "@" in bare or _CAMEL.search(bare):
        return True
    parts = bare.split(".")
    return len(parts) > 1 and all(map(str.isalnum, parts)) and max(map(len, parts)) > 1


def _is_letter(chunk: str, before: str, after: list[str]) -> bool:
    """A capital that stands for something, as in "plan B"; "I" and initials do not."""
    letter = chunk.removesuffix(".") if after == [""] else chunk
    if len(letter) != 1 or not letter.isascii() or not letter.isupper() or letter == "I":
        return False
    return letter not in _LETTER_WORDS or before.isalpha()
