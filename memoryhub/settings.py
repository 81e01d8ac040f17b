"""Read the whole configuration from the environment.

Without `DATABASE_URL` and `BROKER_URL` the embedded servers of `MEMORYHUB_HOME` are used. With
`MEMORYHUB_PUBLIC_URL` (the https address that people type) every production setting is on.

`MEMORYHUB_HOME`          folder of the data, logs and generated secrets (default: `var`)
`MEMORYHUB_PUBLIC_URL`    `https://…` switches to production
`MEMORYHUB_BEHIND_PROXY`  `1` if a proxy ends TLS and sets `X-Forwarded-Proto` itself
`MEMORYHUB_SECRET_KEY`    Django's secret; generated for an embedded installation
`MEMORYHUB_DIGEST_SECRET` what the tenants' digest keys are derived from; generated for an embedded one
`MEMORYHUB_DEBUG`         `1` shows Django's error pages; never together with a public address
`MEMORYHUB_PROCESS`       `web` takes connections from a pool; set by the supervisor
`MEMORYHUB_WITNESS`       folder of the ledgers' witness (default: `witness` in the home)
`MEMORYHUB_SECOND_WITNESS` another folder that is told the same, as a rule on another machine
`DATABASE_URL`            PostgreSQL 18 as the application's role
`OWNER_DATABASE_URL`      the same database as the owner's role, for migrations
`BROKER_URL`              any broker that Celery speaks to
"""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _
from psycopg.conninfo import conninfo_to_dict

from memoryhub.embedded.paths import PROJECT, find_home

BASE_DIR = PROJECT
HOME = find_home()
EXTERNAL_DATABASE = os.environ.get("DATABASE_URL", "")
EXTERNAL_BROKER = os.environ.get("BROKER_URL", "")
PUBLIC_URL = os.environ.get("MEMORYHUB_PUBLIC_URL", "")
PROCESS = os.environ.get("MEMORYHUB_PROCESS", "")
DEBUG = os.environ.get("MEMORYHUB_DEBUG") == "1"

if DEBUG and PUBLIC_URL:
    message = "MEMORYHUB_DEBUG shows secrets on error pages: unset it, or MEMORYHUB_PUBLIC_URL."
    raise ImproperlyConfigured(message)

# --- Secrets -------------------------------------------------------------------------------------

SECRET_KEY = os.environ.get("MEMORYHUB_SECRET_KEY", "")
if not SECRET_KEY:
    if EXTERNAL_DATABASE:
        message = "Set MEMORYHUB_SECRET_KEY: several machines may share an external database."
        raise ImproperlyConfigured(message)
    SECRET_KEY = HOME.secrets.django

# The keys of the tenants' digests come from this one, so it stays when SECRET_KEY is replaced.
DIGEST_SECRET = os.environ.get("MEMORYHUB_DIGEST_SECRET", "")
if not DIGEST_SECRET:
    if EXTERNAL_DATABASE:
        message = "Set MEMORYHUB_DIGEST_SECRET and keep it: digests made under it cannot be made again."
        raise ImproperlyConfigured(message)
    DIGEST_SECRET = HOME.secrets.digest

# --- The ledger's witness ------------------------------------------------------------------------
# It knows every seal and lies outside the database: a restored older one is noticed only so.

WITNESSES = [Path(os.environ.get("MEMORYHUB_WITNESS") or HOME.root / "witness")]
if os.environ.get("MEMORYHUB_SECOND_WITNESS"):
    WITNESSES.append(Path(os.environ["MEMORYHUB_SECOND_WITNESS"]))

# --- Addresses -----------------------------------------------------------------------------------

_public = urlsplit(PUBLIC_URL)
_is_public = bool(PUBLIC_URL)
if _is_public and (_public.scheme != "https" or not _public.hostname):
    message = f"MEMORYHUB_PUBLIC_URL must be an https address, not {PUBLIC_URL!r}."
    raise ImproperlyConfigured(message)

ALLOWED_HOSTS = [_public.hostname] if _public.hostname else ["127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = [f"https://{_public.netloc}"] if _is_public else []
ROOT_URLCONF = "memoryhub.urls"
WSGI_APPLICATION = "memoryhub.wsgi.application"
LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/"

# --- Parts ---------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.auth",  # before ours, which takes its editable page of groups away
    "memoryhub",
    "django.contrib.admin",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "drf_spectacular",
    "guardian",
    "rest_framework",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "memoryhub.access.middleware.TenantContextMiddleware",
]

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
            ],
        },
    },
]

# --- Databases -----------------------------------------------------------------------------------
# `default` serves: it owns nothing and cannot bypass row-level security. `owner` migrates.
# Requests open no transaction by themselves; `access.tenant_context` and the use cases do.


def _read_database_url(url: str) -> dict[str, Any]:
    parts = conninfo_to_dict(url)
    names = {"HOST": "host", "PORT": "port", "NAME": "dbname", "USER": "user", "PASSWORD": "password"}
    known = {name: str(parts.pop(key, "")) for name, key in names.items()}
    return {**known, "OPTIONS": parts}


def _find_databases() -> tuple[dict[str, Any], dict[str, Any]]:
    if EXTERNAL_DATABASE:
        owner = os.environ.get("OWNER_DATABASE_URL", EXTERNAL_DATABASE)
        return _read_database_url(EXTERNAL_DATABASE), _read_database_url(owner)
    place = {"HOST": str(HOME.sockets), "PORT": "5432", "NAME": "memoryhub", "OPTIONS": {}}
    return (
        {**place, "USER": "memoryhub_app", "PASSWORD": HOME.secrets.app},
        {**place, "USER": "memoryhub_owner", "PASSWORD": HOME.secrets.owner},
    )


_app, _owner = _find_databases()
_engine = {
    "ENGINE": "django.db.backends.postgresql",
    "ATOMIC_REQUESTS": False,
    "CONN_HEALTH_CHECKS": True,
}
_is_web = PROCESS == "web"

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        **_engine,
        **_app,
        # Django's pool and persistent connections exclude each other.
        "CONN_MAX_AGE": 0 if _is_web else None,
        "OPTIONS": {
            **_app["OPTIONS"],
            "server_side_binding": True,
            "prepare_threshold": 5,
            "application_name": f"memoryhub {PROCESS or 'command'}",
            **({"pool": {"min_size": 2, "max_size": 8, "timeout": 10}} if _is_web else {}),
        },
        "TEST": {"MIRROR": "owner"},
    },
    "owner": {**_engine, **_owner, "OPTIONS": {**_owner["OPTIONS"], "application_name": "memoryhub owner"}},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- People and rights ---------------------------------------------------------------------------

AUTH_USER_MODEL = "memoryhub.Principal"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
ANONYMOUS_USER_NAME = None  # guardian: nobody who is not signed in has a right to anything
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"

# --- What a browser may do -----------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = _is_public
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if _is_public else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _is_public
SECURE_HSTS_PRELOAD = _is_public
SESSION_COOKIE_SECURE = _is_public
CSRF_COOKIE_SECURE = _is_public
if os.environ.get("MEMORYHUB_BEHIND_PROXY") == "1":
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- Static files --------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = HOME.static
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- Time and language ---------------------------------------------------------------------------

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]

# --- Agents' API ---------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "memoryhub",
    "DESCRIPTION": "What agents may remember: evidence, versions, two clocks, erasure.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
}

# --- Work in the background ----------------------------------------------------------------------
# A job's row is the truth and the task only says "look": a lost or doubled message costs nothing.
# With the broker away or silent a publish, which tries twice, gives up within 0.1 s in the web server; there a thread
# publishes, and no request waits for it.

CELERY_BROKER_URL = EXTERNAL_BROKER or f"redis+socket://{HOME.valkey_socket}"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
    "ack_emulation": False,  # a look that a worker took along into its end is not brought back
    "socket_timeout": 0.05 if _is_web else 10.0,
    "socket_connect_timeout": 0.05 if _is_web else 10.0,
}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = TIME_ZONE
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE_FILENAME = str(HOME.root / "beat-schedule")

# --- Extraction by a model -----------------------------------------------------------------------
# Off without an address. `extraction.openai` says what each number means; a typing error stops the start.


def _read_number(name: str, default: float, *, least: float, most: float) -> float:
    said = os.environ.get(name, "")
    try:
        number = float(said) if said else default
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        message = f"{name} must be a number from {least:g} to {most:g}, not {said!r}."
        raise ImproperlyConfigured(message)
    return number


MODEL_URL = os.environ.get("MEMORYHUB_MODEL_URL", "")
MODEL_NAME = os.environ.get("MEMORYHUB_MODEL_NAME", "")
MODEL_KEY = os.environ.get("MEMORYHUB_MODEL_KEY", "")
MODEL_TIMEOUT = _read_number("MEMORYHUB_MODEL_TIMEOUT", 20, least=1, most=45)
MODEL_RETRIES = int(_read_number("MEMORYHUB_MODEL_RETRIES", 2, least=0, most=5))
MODEL_EVENT_TOKENS = int(_read_number("MEMORYHUB_MODEL_EVENT_TOKENS", 16_000, least=3_000, most=1_000_000))
MODEL_DAILY_TOKENS = int(_read_number("MEMORYHUB_MODEL_DAILY_TOKENS", 1_000_000, least=0, most=2_000_000_000))
_model = urlsplit(MODEL_URL)
if MODEL_URL and (_model.scheme not in ("http", "https") or not _model.hostname or _model.username or _model.query):
    message = "MEMORYHUB_MODEL_URL must be an http or https address such as https://host/v1, without a key in it."
    raise ImproperlyConfigured(message)
if bool(MODEL_URL) != bool(MODEL_NAME):
    message = "MEMORYHUB_MODEL_URL and MEMORYHUB_MODEL_NAME are set together."
    raise ImproperlyConfigured(message)

# --- Logs ----------------------------------------------------------------------------------------
# One JSON object a line: ids, counts and reason codes, never what an event or a memory says.

_before_rendering: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]
structlog.configure(
    processors=[*_before_rendering, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=True,
)
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            "foreign_pre_chain": _before_rendering,
        },
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "memoryhub": {"level": "INFO"},
        "celery": {"level": "WARNING"},
        "django": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
    },
}
