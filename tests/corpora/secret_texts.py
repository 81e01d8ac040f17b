"""Make secrets as they turn up in text: keys of services by their published shapes, and passwords in prose.

Nothing here is anybody's: every key is drawn from a seed when the test runs, and none stands in this file.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Iterator
from dataclasses import dataclass

_ALNUM = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits
_LOWER = string.ascii_lowercase + string.digits
_HEX = "0123456789abcdef"
_URL = _ALNUM + "-_"
_BASE64 = _ALNUM + "+/"


@dataclass(frozen=True, slots=True)
class Secret:
    """Hold a text, what of it must not be stored, and what kind of thing it is."""

    text: str
    secret: str
    kind: str


def make_keys(*, seed: int) -> dict[str, str]:
    """Return one freshly drawn key of each service, by name."""
    draw = random.Random(seed)  # noqa: S311

    def some(number: int, of: str = _ALNUM) -> str:
        return "".join(draw.choice(of) for _ in range(number))

    header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(json.dumps({"sub": some(10), "iat": 1}).encode()).decode().rstrip("=")
    return {
        "aws access key": "AKIA" + some(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        "github classic": "ghp_" + some(36),
        "github oauth": "gho_" + some(36),
        "github fine-grained": "github_pat_" + some(22) + "_" + some(59),
        "gitlab": "glpat-" + some(20, _URL),
        "gitlab trigger": "glptt-" + some(40, _HEX),
        "slack bot": "xoxb-" + some(12, string.digits) + "-" + some(13, string.digits) + "-" + some(24),
        "slack hook": "https://hooks.slack.com/services/T"
        + some(10, _UPPER)
        + "/B"
        + some(10, _UPPER)
        + "/"
        + some(24),
        "stripe": "sk_live_" + some(24),
        "stripe restricted": "rk_live_" + some(24),
        "openai project": "sk-proj-" + some(74, _URL) + "T3BlbkFJ" + some(74, _URL),
        "openai": "sk-" + some(20) + "T3BlbkFJ" + some(20),
        "anthropic": "sk-ant-api03-" + some(93, _URL) + "AA",
        "google": "AIza" + some(35, _URL),
        "google client": "GOCSPX-" + some(28, _URL),
        "npm": "npm_" + some(36),
        "pypi": "pypi-AgEIcHlwaS5vcmc" + some(70, _URL),
        "hugging face": "hf_" + some(34, string.ascii_letters),
        "sendgrid": "SG." + some(22, _URL) + "." + some(43, _URL),
        "twilio": "SK" + some(32, _HEX),
        "mailgun": "key-" + some(32, _HEX),
        "mailchimp": some(32, _HEX) + "-us12",
        "telegram": some(10, string.digits) + ":AA" + some(33, _URL),
        "digitalocean": "dop_v1_" + some(64, _HEX),
        "doppler": "dp.pt." + some(43),
        "shopify": "shpat_" + some(32, _HEX),
        "square": "sq0atp-" + some(22, _URL),
        "databricks": "dapi" + some(32, _HEX),
        "linear": "lin_api_" + some(40),
        "notion": "ntn_" + some(11, string.digits) + some(35),
        "figma": "figd_" + some(40, _URL),
        "postman": "PMAK-" + some(24, _HEX) + "-" + some(34, _HEX),
        "vault": "hvs." + some(95, _URL),
        "terraform": some(14) + ".atlasv1." + some(64, _URL),
        "grafana": "glsa_" + some(32) + "_" + some(8, _HEX),
        "docker": "dckr_pat_" + some(27, _URL),
        "age": "AGE-SECRET-KEY-1" + some(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
        "aliyun": "LTAI" + some(20),
        "tencent": "AKID" + some(32),
        "new relic": "NRAK-" + some(27, _UPPER),
        "pulumi": "pul-" + some(40, _HEX),
        "groq": "gsk_" + some(52),
        "replicate": "r8_" + some(37),
        "perplexity": "pplx-" + some(48),
        "xai": "xai-" + some(80),
        "json web token": f"{header}.{body}.{some(43, _URL)}",
    }


def make_named(*, seed: int) -> dict[str, tuple[str, str]]:
    """Return keys without a shape of their own that only their names give away: the text and the secret."""
    draw = random.Random(seed)  # noqa: S311

    def some(number: int, of: str = _ALNUM) -> str:
        # A letter, a digit and a letter begin it, as almost every drawn key has them somewhere.
        return "a7X"[: min(3, number)] + "".join(draw.choice(of) for _ in range(number - 3))

    made = {name: some(length, of) for name, length, of in _NAMED_KEYS}
    block = "\n".join(some(64, _BASE64) for _ in range(4))
    return {name: (_NAMED_TEXTS[name].format(secret), secret) for name, secret in made.items()} | {
        "private key": (f"-----BEGIN RSA PRIVATE KEY-----\n{block}\n-----END RSA PRIVATE KEY-----", block[:64]),
        "azure storage": (
            f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={block[:64]}{block[65:87]}==",
            block[:64],
        ),
    }


_NAMED_KEYS = (
    ("aws secret", 40, _BASE64),
    ("header", 32, _HEX),
    ("bearer", 40, _ALNUM),
    ("environment", 24, _ALNUM),
    ("yaml", 32, _ALNUM),
    ("client secret", 32, _ALNUM),
    ("url", 14, _ALNUM),
    ("chinese key", 32, _ALNUM),
    ("chinese token", 24, _ALNUM),
    ("chinese secret", 32, _HEX),
)
_NAMED_TEXTS = {
    "aws secret": "aws_secret_access_key = {}",
    "header": "curl -H 'X-Api-Key: {}' https://api.example.org/v1",
    "bearer": "Authorization: Bearer {}",
    "environment": "export SERVICE_TOKEN={}",
    "yaml": "api_key: '{}'",
    "client secret": '{{"client_id": "web", "client_secret": "{}"}}',
    "url": "postgresql://app:{}@db.internal:5432/app",
    "chinese key": "接口密钥是 {}，请妥善保管",
    "chinese token": "访问令牌：{}",
    "chinese secret": "应用的 AppSecret 为 {}",
}
_PROSE = (
    "The password is {}.",
    "my password: {}",
    "Use {} as the password for the staging account.",
    "log in with user deploy and password {}",
    "The wifi passphrase was changed to {} yesterday.",
    "pwd={}",
    "the root pw is {}",
    "Alice's passcode is {}, do not share it",
    "密码是{}。",
    "我的登录密码为 {}，先别告诉别人",
    "数据库口令：{}",
    "用户名 admin 密码 {}",
    "新密码改成了{}，旧的作废",
    "密碼是 {}",
    "用 {} 作为预发环境的密码",
    "路由器的初始密码设为{}",
)
_AROUND = (
    "{}",
    "For the record: {} (from the chat of last week)",
    "请记录一下：{}",
    "Deploy notes: the job runs at night. {} Ask Rita if it fails.",
)
_WORDS = ("Tiger", "maple", "Sunset", "orbit", "Winter", "copper", "lotus", "Harbor")


def make_secrets(*, number: int, seed: int) -> Iterator[Secret]:
    """Yield so many different texts with a secret in each: services by shape, by name, and prose, in turn."""
    draw = random.Random(seed)  # noqa: S311
    place = 0
    while True:
        drawn = draw.randrange(2**32)
        everything = [Secret(secret, secret, name) for name, secret in make_keys(seed=drawn).items()]
        everything += [Secret(text, secret, name) for name, (text, secret) in make_named(seed=drawn).items()]
        for form in _PROSE:
            password = f"{draw.choice(_WORDS)}{draw.choice('-_!#')}{draw.randrange(1000, 9999)}{draw.choice('!$xq')}"
            everything.append(Secret(form.format(password), password, f"password, {form}"))
        draw.shuffle(everything)
        for made in everything:
            if place == number:
                return
            yield Secret(draw.choice(_AROUND).format(made.text), made.secret, made.kind)
            place += 1
