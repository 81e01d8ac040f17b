"""Limits: stated in `GET /me`; what is larger is refused, nothing is cut."""

from __future__ import annotations

from memoryhub.usecases.ingest import MAX_BATCH
from memoryhub.usecases.recall import MAX_TOP_K

BODY_BYTES = 8 * 1024 * 1024
BATCH = MAX_BATCH
PAYLOAD_BYTES = 256 * 1024
CONTENT_CHARACTERS = 32 * 1024
VALUE_BYTES = 64 * 1024
CONDITIONS_BYTES = 8 * 1024
NESTING = 64
PAGE = 200
DEFAULT_PAGE = 50
TOP_K = MAX_TOP_K
QUERY_CHARACTERS = 2000
KEY_CHARACTERS = 255

LIMITS = {
    "body_bytes": BODY_BYTES,
    "batch": BATCH,
    "payload_bytes": PAYLOAD_BYTES,
    "content_characters": CONTENT_CHARACTERS,
    "value_bytes": VALUE_BYTES,
    "conditions_bytes": CONDITIONS_BYTES,
    "nesting": NESTING,
    "page": PAGE,
    "top_k": TOP_K,
    "query_characters": QUERY_CHARACTERS,
    "idempotency_key_characters": KEY_CHARACTERS,
}
