"""What the memory page says of a memory that has to be looked at again."""

from dataclasses import dataclass

from memoryhub.console import words
from memoryhub.console.frame import Viewer
from memoryhub.console.memory_queries import find_rereview
from memoryhub.console.queue_queries import list_reviewable_scopes
from memoryhub.memory.queries import MemoryRecord
from memoryhub.types.enums import ReviewKind
from memoryhub.usecases.review import REASONS_TO_REJECT


@dataclass(frozen=True, slots=True)
class Again:
    """Say that a memory is under review, why, and whether the viewer may decide it."""

    item_id: str
    why: str
    code: str
    may_decide: bool
    version: int
    reasons: tuple[tuple[str, str], ...]


def find_again(*, viewer: Viewer, head: MemoryRecord) -> Again | None:
    """Return the open rereview of a memory, or None."""
    item = find_rereview(tenant_id=viewer.caller.tenant_id, memory_id=head.id)
    if item is None:
        return None
    return Again(
        item_id=item[0],
        why=words.explain_reason(code=item[1]),
        code=item[1],
        may_decide=head.scope_id in list_reviewable_scopes(caller=viewer.caller, kind=ReviewKind.REREVIEW),
        version=head.version,
        reasons=tuple((code, str(words.REASON_TO_REJECT[code])) for code in REASONS_TO_REJECT),
    )
