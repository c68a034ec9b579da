"""Texts in the shapes of secrets, drawn anew from a seed: none of them opens anything.

They are made here, since a literal one would set off whoever looks for leaks in this tree.
"""

from __future__ import annotations

import random
import string

WORDS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
DIGITS = string.digits


def planted(seed: int) -> dict[str, str]:
    """A secret of each shape, by a name for it."""
    chance = random.Random(seed)

    def drawn(count: int, letters: str = WORDS) -> str:
        return "".join(chance.choice(letters) for _ in range(count))

    def mixed(count: int) -> str:
        return drawn(count) + "7aQ2"  # at least one of each kind of character

    begin, end = ("-----" + word + " {}PRIVATE KEY-----" for word in ("BEGIN", "END"))
    return {
        "aws id": "AKIA" + drawn(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        "aws secret": "aws_secret_access_key = " + mixed(36),
        "github": "ghp_" + drawn(36),
        "github app": "ghs_" + drawn(36),
        "github fine": "github_pat_" + drawn(22) + "_" + drawn(59),
        "gitlab": "glpat-" + drawn(20),
        "slack": "xoxb-" + drawn(12, DIGITS) + "-" + drawn(24),
        "slack hook": f"https://hooks.slack.com/services/T{drawn(8)}/B{drawn(8)}/{drawn(24)}",
        "stripe": "sk_live_" + drawn(24),
        "stripe hook": "whsec_" + drawn(32),
        "anthropic": "sk-ant-api03-" + drawn(90),
        "openai": "sk-proj-" + drawn(48),
        "openai old": "sk-" + drawn(48),
        "openrouter": "sk-or-v1-" + drawn(64, HEX),
        "google": "AIza" + drawn(35),
        "google oauth": "GOCSPX-" + drawn(28),
        "sendgrid": "SG." + drawn(22) + "." + drawn(43),
        "mailchimp": drawn(32, HEX) + "-us12",
        "twilio": "SK" + drawn(32, HEX),
        "npm": "npm_" + drawn(36),
        "pypi": "pypi-AgE" + drawn(90),
        "docker": "dckr_pat_" + drawn(27),
        "hugging face": "hf_" + drawn(34),
        "databricks": "dapi" + drawn(32, HEX),
        "digitalocean": "dop_v1_" + drawn(64, HEX),
        "shopify": "shpat_" + drawn(32, HEX),
        "telegram": drawn(9, DIGITS) + ":AA" + drawn(33),
        "vault": "hvs." + drawn(24),
        "terraform": drawn(14) + ".atlasv1." + drawn(67),
        "linear": "lin_api_" + drawn(40),
        "supabase": "sbp_" + drawn(40, HEX),
        "postman": "PMAK-" + drawn(24, HEX) + "-" + drawn(34, HEX),
        "new relic": "NRAK-" + drawn(27, UPPER),
        "age": "AGE-SECRET-KEY-1" + drawn(58, UPPER),
        "azure": "AccountKey=" + drawn(86) + "==",
        "jwt": "eyJ" + drawn(20) + ".eyJ" + drawn(40) + "." + drawn(43),
        "rsa": begin.format("RSA ") + "\n" + drawn(64) + "\n" + end.format("RSA "),
        "ssh": begin.format("OPENSSH ") + "\n" + drawn(64),
        "pkcs8": begin.format("") + drawn(64) + end.format(""),
        "postgres": f"postgres://app:{mixed(12)}@db.internal:5432/app",
        "redis": f"redis://:{mixed(16)}@cache:6379",
        "mongo": f"mongodb+srv://svc:{mixed(10)}@c0.example.net/x",
        "password": "the password is " + mixed(10),
        "assigned": 'DB_PASSWORD="' + mixed(8) + '"',
        "api key": "API_KEY=" + mixed(30),
        "bearer": "Authorization: Bearer " + mixed(40),
    }


def value_of(secret: str) -> str:
    """The part of a planted text that must be nowhere: its longest run of drawn characters."""
    runs = "".join(char if char in WORDS else " " for char in secret).split()
    return max(runs, key=len)


INNOCENT = (
    "No API key is needed",
    "No API key is needed for the staging API",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b broke the build",
    "the release is 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
    "session 6f0d8a52-41c1-4c5e-9d7e-0b7a52c0f9a1 was closed",
    "the key is import.meta.env.VITE_API_KEY",
    "keys come from import.meta.env.X",
    "use process.env.API_KEY in the worker",
    "password: ${DB_PASSWORD}",
    "PASSWORD=$PGPASSWORD is set by the shell",
    "postgres://user@host/db is the development database",
    "postgres://user:<password>@host/db is how it looks",
    "postgres://user:$PGPASSWORD@host/db",
    "postgres://user:password@localhost/db",
    "api_key = your-api-key-here",
    "API_KEY=changeme123 in the example file",
    "token: xxxxxxxxxxxxxxxx",
    "AKIAIOSFODNN7EXAMPLE is the documentation's",
    "image ghcr.io/org/app@sha256:" + "9f86d081884c7d65" * 4,
    "integrity sha512-" + "z4PhNX7vuL3xVChQ1m2AB9Yg" * 3 + "== of the package",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ" + "C7vbqajDw4o6gJy8" * 8 + " me@host",
    "the file begins with -----BEGIN PUBLIC KEY-----",
    "the password is stored in the keychain",
    "the API key is kept in 1Password",
    "the secret is in vault under kv/apps/api",
    "the token is refreshed every 3600 seconds",
    "the token is a JWT signed with RS256",
    "the primary key is user_id",
    "the secret is getSecret('db')",
    "key: settings.API_KEY",
    "the access key is rotated by terraform-aws-modules",
    "the password is hashed with argon2id",
    "passwords are hashed with bcrypt2",
    "the api key is read from os.environ['KEY']",
    "tokens per minute: 150000",
    "secretName: my-app-secret",
    "the bearer token goes into the Authorization header",
    "see https://example.com/a/very/long/path/that/is/not/a/secret?x=1",
    "src/components/authentication/PasswordResetForm.tsx",
    "the passphrase is in ~/.config/age/key2.txt",
    "max_tokens=4096",
    "password=********",
    "the test password is test1234",
    "the private key is at /etc/ssl/private/server2.pem",
    "token: {{ secrets.GITHUB_TOKEN }}",
    "the api_key parameter is deprecated since v2.3.1",
    "git+ssh://git@github.com:org/repo2.git",
    "npm package @types/node-20.11.5-beta-release",
)
