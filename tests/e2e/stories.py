"""What stands in a tenant when a browser opens it: cases in both queues, closed ones, a locked one, long words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import MemoryHead
from memoryhub.review.models import ReviewItem
from memoryhub.types.enums import CandidateKind, EpistemicStatus, ReviewKind, RevocationTarget
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.review import Resolution, Verb, resolve_review
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.write_memory import write_memory
from tests.acts import state_fact
from tests.cast import EARLY, Cast
from tests.integration.reflecting import reflect, relay

LONG = (
    "Security fixes are published until the end of the extended period; after that only customers with a support "
    "contract receive them, on request and for the last minor release alone"
)


@dataclass(frozen=True, slots=True)
class Case:
    """Hold where a case stands: its item and its memory."""

    item_id: str
    memory_id: str


def contest(cast: Cast, *, cycle: str = "4.1", first: str = "4.1", then: str = "4.1.1") -> Case:
    """Let one maintainer replace a value and another put it back within the contest window: the case waits."""
    state_fact(cast, value=first, cycle=cycle, by=cast.carol.username)
    state_fact(cast, value=then, cycle=cycle, at=EARLY + timedelta(days=33), by=cast.bob.username)
    state_fact(cast, value=first, cycle=cycle, at=EARLY + timedelta(days=43), by=cast.carol.username)
    with tenant_context(cast.tenant_id, read_only=True):
        item = ReviewItem.objects.filter(kind=ReviewKind.CONFLICT).latest("opened_at")
        return Case(item_id=str(item.pk), memory_id=str(item.memory_id))


def infer_preference(cast: Cast, *, words: str = "以后默认用中文回答", value: str = "zh-Hans") -> str:
    """Let the agent infer a preference of Alice's; returns the item that asks her."""
    scope, event = ("user", cast.alice.username), str(new_id())
    write_memory(
        caller=cast.caller,
        event=EventInput(
            event_id=event, scope=scope, source_type="message", occurred_at=EARLY, payload={"text": words}
        ),
        proposal=CandidateInput(
            scope=scope,
            subject="person:alice",
            fact_key="reply.language",
            content=words,
            value=value,
            kind=CandidateKind.PREFERENCE,
            epistemic_status=EpistemicStatus.INFERRED,
            evidence=(EvidenceInput(event, (5, 9)),),
        ),
        now=clock.now(),
    )
    with tenant_context(cast.tenant_id, read_only=True):
        return str(ReviewItem.objects.filter(kind=ReviewKind.CONFIRMATION).latest("opened_at").pk)


def decide(cast: Cast, case: Case, *, verb: Verb, note: str = "", reason: str = "") -> None:
    """Let Alice decide a case."""
    with tenant_context(cast.tenant_id, read_only=True):
        version = MemoryHead.objects.get(pk=case.memory_id).version
    resolve_review(
        caller=cast.person(cast.alice),
        resolution=Resolution(item_id=case.item_id, verb=verb, expected_version=version, note=note, reason=reason),
        now=clock.now(),
    )


def revoke_memory(cast: Cast, case: Case) -> None:
    """Let Erin revoke the memory of a case."""
    revoke(
        caller=cast.person(cast.erin),
        scope=("project", "platform"),
        target=RevocationTarget.MEMORY,
        target_id=case.memory_id,
        reason="request",
        now=clock.now(),
    )


def fell(cast: Cast) -> tuple[str, str]:
    """Let a memory say something else than what a reflection rests on; return both, the lower one first."""
    lower = str(state_fact(cast, value="6.0", cycle="6.0").result.memory_id)
    upper = str(reflect(cast, (lower, 1)).result.memory_id)
    state_fact(cast, value="6.0.1", cycle="6.0", at=EARLY + timedelta(days=1))
    relay()
    return lower, upper
