"""Dead letters: an operator looks at what used up its attempts, and puts it back or gives it up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memoryhub.access.operations import record_audit
from memoryhub.access.queries import access_tenant
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import naming_errors
from memoryhub.memory.giving_up import give_up_candidates
from memoryhub.outbox.dead_letters import (
    DeadLetter,
    DeadLetters,
    discard_rows,
    list_dead_letters,
    redrive_rows,
)
from memoryhub.policy.screening import redact_text
from memoryhub.types.enums import DeadLetterReason
from memoryhub.usecases.ingest import list_own_patterns

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.access.callers import Caller

RIGHT = "operate"
MOST_AT_ONCE = 1000
LONGEST_NOTE = 200
REASONS_TO_REDRIVE = (DeadLetterReason.CAUSE_FIXED, DeadLetterReason.OUTAGE_OVER, DeadLetterReason.OTHER)
REASONS_TO_DISCARD = (DeadLetterReason.CANNOT_SUCCEED, DeadLetterReason.NOT_NEEDED, DeadLetterReason.OTHER)


class ReasonMissing(Exception):
    """Say that no reason of the list was given; the message names those there are."""


class NoteTooLong(Exception):
    """Say that a note is longer than `LONGEST_NOTE` characters."""


@dataclass(frozen=True, slots=True)
class Handled:
    """Hold what was done with dead letters of one fingerprint, and how many of them are still dead."""

    fingerprint: str
    changed: int
    rejected_candidates: int
    left: int


def see_dead_letters(*, caller: Caller) -> list[DeadLetters]:
    """Return the dead letters of the caller's tenant by fingerprint.

    Raises:
        TenantForbidden: the right `operate` is missing. StoreFailure: the database could not be asked.
    """
    with naming_errors(), tenant_context(caller.tenant_id, read_only=True):
        access_tenant(caller=caller, right=RIGHT)
        return list_dead_letters(tenant_id=caller.tenant_id)


def redrive_dead_letters(
    *, caller: Caller, fingerprint: str, reason: str, note: str = "", limit: int = MOST_AT_ONCE, now: datetime
) -> Handled:
    """Put dead jobs or outbox rows of one fingerprint back into the queue, at most 1,000 in one transaction.

    Doing it again finds what is still dead, and changes nothing where that is nothing. Audited.

    Raises:
        TenantForbidden: the right `operate` is missing. ReasonMissing, NoteTooLong: nothing was changed.
        StoreFailure: the database could not be asked; nothing was changed.
    """
    return _handle(
        verb="redriven",
        caller=caller,
        fingerprint=fingerprint,
        reason=_check_reason(reason, REASONS_TO_REDRIVE),
        note=note,
        limit=limit,
        now=now,
    )


def discard_dead_letters(
    *, caller: Caller, fingerprint: str, reason: str, note: str = "", limit: int = MOST_AT_ONCE, now: datetime
) -> Handled:
    """Give dead jobs or outbox rows of one fingerprint up for good, at most 1,000 in one transaction.

    Nothing is lost silently: the rows stay and say why, the event's status reads `discarded`, and a candidate that
    nobody will decide any more is rejected as `work_discarded`, a recorded decision of this person. Audited.

    Raises:
        TenantForbidden: the right `operate` is missing. ReasonMissing, NoteTooLong: nothing was changed.
        StoreFailure: the database could not be asked; nothing was changed.
    """
    return _handle(
        verb="discarded",
        caller=caller,
        fingerprint=fingerprint,
        reason=_check_reason(reason, REASONS_TO_DISCARD),
        note=note,
        limit=limit,
        now=now,
    )


def _handle(
    *,
    verb: Literal["redriven", "discarded"],
    caller: Caller,
    fingerprint: str,
    reason: str,
    note: str,
    limit: int,
    now: datetime,
) -> Handled:
    if len(note) > LONGEST_NOTE:
        raise NoteTooLong
    change = redrive_rows if verb == "redriven" else discard_rows
    with naming_errors(), tenant_context(caller.tenant_id):
        access_tenant(caller=caller, right=RIGHT)
        note = redact_text(note, own=list_own_patterns(caller=caller))[0]
        changed = change(
            tenant_id=caller.tenant_id,
            fingerprint=fingerprint,
            reason=reason,
            note=note,
            limit=min(limit, MOST_AT_ONCE),
            now=now,
        )
        rejected = _give_up(caller=caller, letters=changed, now=now) if verb == "discarded" else []
        if changed:
            record_audit(
                caller=caller,
                action=f"dead_letter.{verb}",
                object_ids={"letters": [letter.id for letter in changed], "candidates": rejected},
                outcome=verb,
                reason=reason,
                now=now,
            )
        left = [one.count for one in list_dead_letters(tenant_id=caller.tenant_id) if one.fingerprint == fingerprint]
        return Handled(fingerprint, len(changed), len(rejected), sum(left))


def _give_up(*, caller: Caller, letters: list[DeadLetter], now: datetime) -> list[str]:
    return give_up_candidates(
        tenant_id=caller.tenant_id,
        ids=[letter.target for letter in letters if letter.kind == "consolidate"],
        decider_id=caller.principal_id,
        now=now,
    )


def _check_reason(reason: str, known: tuple[DeadLetterReason, ...]) -> str:
    if reason not in known:
        raise ReasonMissing(", ".join(known))
    return reason
