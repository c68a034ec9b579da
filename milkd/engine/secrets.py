"""What in a text has the shape of a secret: keys, tokens, passwords in URLs and assignments.

A store of facts is read by every agent and kept for years, so that a key in it is a leak that
waits.  Only shapes count that mean nothing else: a prefix that its issuer gives out, with the
alphabet and length that belong to it, or a value that is said to be a password.  A commit, a
UUID, a checksum, a placeholder or the name of a variable is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Secret(NamedTuple):
    """Where a text holds one; characters, `end` exclusive."""

    kind: str
    start: int
    end: int


# Kind, what has to be in a text for it to be one (any of these), and the shape.
_SHAPES: tuple[tuple[str, str, str], ...] = (
    ("AWS access key id", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    (
        "GitHub token",
        "gh github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{22,255}",
    ),
    ("GitLab token", "gl", r"gl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{20,64}"),
    ("Slack token", "xox xapp-", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{20,250}"),
    (
        "Slack webhook",
        "hooks.slack.com",
        r"https://hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}",
    ),
    (
        "Discord webhook",
        "/api/webhooks/",
        r"https://discord(?:app)?\.com/api/webhooks/\d{16,20}/[\w-]{60,80}",
    ),
    (
        "Stripe key",
        "_live_ _test_ whsec_",
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,247}|whsec_[A-Za-z0-9+/]{32,64}={0,2}",
    ),
    ("Anthropic key", "sk-ant-", r"sk-ant-[a-z0-9]{2,10}-[A-Za-z0-9_-]{20,200}"),
    ("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,250}|sk-[A-Za-z0-9]{32,64}"),
    ("OpenRouter key", "sk-or-", r"sk-or-v1-[0-9a-f]{64}"),
    ("Google API key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    (
        "Google OAuth secret",
        "GOCSPX- ya29.",
        r"GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,400}",
    ),
    ("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ("Mailgun key", "key-", r"key-[0-9a-f]{32}"),
    ("Mailchimp key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    ("Twilio key", "SK", r"SK[0-9a-f]{32}"),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    ("PyPI token", "pypi-", r"pypi-AgE[A-Za-z0-9_-]{50,400}"),
    ("RubyGems key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    ("crates.io token", "cio", r"cio[A-Za-z0-9]{32}"),
    ("Docker token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,64}"),
    ("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{34,40}"),
    ("Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    ("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("Square token", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}"),
    ("Telegram bot token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("Discord bot token", ".", r"[MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,38}"),
    ("Vault token", "hv", r"hv[sbr]\.[A-Za-z0-9_-]{24,300}"),
    ("Terraform Cloud token", "atlasv1", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,70}"),
    ("Doppler token", "dp.", r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{40,60}"),
    ("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    ("Notion token", "ntn_ secret_", r"ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43}"),
    ("Figma token", "figd_", r"figd_[A-Za-z0-9_-]{40}"),
    ("Grafana token", "gl", r"gl(?:sa|c)_[A-Za-z0-9+/=_-]{32,200}"),
    ("Sentry token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_-]{40,400}"),
    ("New Relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    ("Postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("Atlassian token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{100,300}"),
    ("Supabase token", "sbp_", r"sbp_[0-9a-f]{40}"),
    ("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("JSON Web Token", "eyJ", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}"),
    ("Azure storage key", "AccountKey=", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    ("Azure shared access key", "SharedAccessKey=", r"SharedAccessKey=[A-Za-z0-9+/]{43}="),
)
_BEGINS = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_ENDS = "-----END"
_SHAPED = tuple(
    (kind, tuple(marks.split()), re.compile(rf"(?<![A-Za-z0-9_-])(?:{shape})(?![A-Za-z0-9_-])"))
    for kind, marks, shape in _SHAPES
)
"""A shape stands by itself, not within a longer word."""
_CHUNK = re.compile(r"[^\s\"'`<>(){}\[\],;]{16,}")
"""What is long enough to be a secret, with what may be written together with it."""
_NAME = re.compile(r"pass(?:word|wd|phrase|code)|pwd|secret|token|key|bearer(?= )", re.IGNORECASE)
_WORDS = ("pass", "pwd", "secret", "token", "key", "bearer")
"""One of these is in whatever `_NAME` finds."""
_KEYS = ("api", "access", "auth", "private", "signing", "encryption", "secret", "account")
"""What makes a "key" one that is to be kept secret."""
_SET = re.compile(r"[\"'`]?\s{0,3}(?:[:=]{1,2}>?)\s{0,3}[\"'`]?([^\s\"'`,;]{6,400})")
_SAID = re.compile(r"[\"'`]?\s{1,3}(?:is\s{1,3})?[\"'`]?([^\s\"'`,;]{8,400})", re.IGNORECASE)
_REFERENCE = re.compile(
    r"[$%{<\[(*.•/~]|x{4,}|y{4,}|0{6,}|1234|changeme|(?:your|my|the|some|test|dummy|fake|example|change"
    r"|replace|insert|redacted|masked|hidden|env|process|import|os|config|secrets?|vault|op|var"
    r"|settings|password|passwd|pass|pwd|postgres|mysql|root|admin|user|guest|token|none|null)"
    r"(?![a-z0-9])|https?:|[a-z]+:/|[a-z_.]+\(",
    re.IGNORECASE,
)
"""How a placeholder, a variable, a path or a call begins."""
_DIGESTS = re.compile(
    r"(?:sha\d{1,3}|md5)[-:]|[0-9a-f]{7,128}$|[0-9a-f]{8}-[0-9a-f]{4}-", re.IGNORECASE
)
_WRITTEN = re.compile(r"[\d.,:]+|[A-Z][A-Z0-9_]*|[a-z]+(?:[-_.][a-z0-9]+)+")
"""A number, the name of a variable, words that are joined."""
_TURN = re.compile(r"[a-z](?=[0-9])|[0-9](?=[a-z])", re.IGNORECASE)
_EXAMPLE = "EXAMPLE"
MOST_LOOKED_AT = 65_536
"""Characters; longer texts are refused for their length."""


def secrets_in(text: str) -> list[Secret]:
    """The secrets that a text seems to hold, in order, none within another."""
    text = text[:MOST_LOOKED_AT]
    found = list(_blocks(text)) if "-----BEGIN" in text else []
    for chunk in _CHUNK.finditer(text):
        found += _shaped(chunk[0], chunk.start())
        found += _in_url(chunk[0], chunk.start())
    found += _said_to_be(text)
    return _apart(found)


def masked(text: str, secrets: list[Secret]) -> str:
    """The text with the kind of each secret in its place."""
    for secret in reversed(secrets):
        text = f"{text[: secret.start]}[masked: {secret.kind}]{text[secret.end :]}"
    return text


def _blocks(text: str) -> Iterator[Secret]:
    """Private keys from their first line to the end of their last."""
    end = 0
    for begins in _BEGINS.finditer(text):
        if begins.start() < end:
            continue
        last = text.find(_ENDS, begins.end())
        end = text.find("-----", last + len(_ENDS)) + 5 if last >= 0 else len(text)
        end = end if end > begins.end() else len(text)
        yield Secret("private key", begins.start(), end)


def _shaped(chunk: str, start: int) -> Iterator[Secret]:
    """What has the shape that an issuer gives its keys."""
    for kind, marks, shape in _SHAPED:
        if any(mark in chunk for mark in marks):
            for match in shape.finditer(chunk):
                if _EXAMPLE not in match[0] and len(set(match[0])) > 8:
                    yield Secret(kind, start + match.start(), start + match.end())


def _in_url(chunk: str, start: int) -> Iterator[Secret]:
    """A password in `scheme://user:password@host`."""
    at = chunk.find("@") if "://" in chunk else -1
    while at >= 0:
        head = chunk[max(0, at - 330) : at]
        _, scheme, access = head.rpartition("://")
        _, colon, value = access.partition(":")
        if scheme and colon and len(value) > 2 and "/" not in value and not _is_reference(value):
            yield Secret("password in a URL", start + at - len(value), start + at)
        at = chunk.find("@", at + 1)


def _said_to_be(text: str) -> Iterator[Secret]:
    """What stands behind "password:", "api_key =" and the like, if it can be a value of that."""
    low = text.lower()
    if not any(word in low for word in _WORDS):
        return
    for name in _NAME.finditer(text):
        word = name[0].lower()
        before = text[max(0, name.start() - 12) : name.start()].lower().rstrip(" _-")
        if word == "key" and not before.endswith(_KEYS):
            continue
        is_set = _SET.match(text, name.end())
        match = is_set or _SAID.match(text, name.end())
        if match is None:
            continue
        value = match[1].rstrip(".!?)")
        if not _is_reference(value) and _is_drawn(value, is_set=is_set is not None):
            kind = "password" if word.startswith("p") else "key or token"
            yield Secret(kind, match.start(1), match.start(1) + len(value))


def _is_reference(value: str) -> bool:
    """Whether it only stands for a value: a variable, a placeholder, an example."""
    return _REFERENCE.match(value) is not None or len(set(value)) < 4


def _is_drawn(value: str, *, is_set: bool) -> bool:
    """Whether it looks drawn, not written: digits among letters, and no checksum.

    Args:
        value: Without the marks behind it.
        is_set: Whether a `=` or `:` gives it to a name; where it is only said, more is asked.
    """
    if _WRITTEN.fullmatch(value) or _DIGESTS.match(value):
        return False
    kinds = (
        any(map(str.isdigit, value)),
        any(map(str.islower, value)),
        any(map(str.isupper, value)),
    )
    if not kinds[0] or not (kinds[1] or kinds[2]):
        return False
    return is_set or len(_TURN.findall(value)) > 2 or (all(kinds) and len(value) > 8)


def _apart(found: list[Secret]) -> list[Secret]:
    """In order, the longer one of two that overlap."""
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept
