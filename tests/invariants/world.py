"""One tenant that has everything: a row in every table, made by the use cases."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta

from memoryhub.access.models import IdempotencyKey, ScreeningPattern, Subject, SubjectAlias, SubjectMention
from memoryhub.access.operations import create_scope
from memoryhub.access.tenancy import tenant_context
from memoryhub.extraction.models import ModelAnswer
from memoryhub.kernel.models import Evidence, EvidenceEdge, EvidenceRoot
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.retrieval.operations import index_memory
from memoryhub.types.enums import CandidateKind, RevocationTarget
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.propose import CandidateInput, EvidenceInput, propose_candidate
from memoryhub.usecases.quoting import DocumentInput
from memoryhub.usecases.recall import RecallInput, recall_memories
from memoryhub.usecases.review import Resolution, Verb, resolve_review
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.seal_ledger import seal_ledger
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast
from tests.integration.reflecting import reflect

DAY = timedelta(days=1)
SCOPE = ("project", "platform")


@dataclass(frozen=True)
class World:
    """Hold the ids that attacks are made on, by name."""

    cast: Cast
    ids: dict[str, str]

    @property
    def tenant_id(self) -> str:
        """The id of the tenant."""
        return self.cast.tenant_id


def make_world() -> World:
    """Make a tenant with a superseded fact, open and settled conflicts, a revoked memory and a waiting job."""
    cast = make_cast()
    alice, bob = cast.alice.username, cast.bob.username
    state_fact(cast, value="4.1.0")
    memory_id = str(state_fact(cast, value="4.1.1", at=EARLY + DAY).result.memory_id)
    for verb in (None, Verb.ACCEPT, Verb.REJECT):
        state_fact(cast, value="a", by=alice, key="undeclared", cycle=str(verb))
        later = state_fact(cast, value="b", by=bob, key="undeclared", cycle=str(verb), at=EARLY + DAY)
        if verb is not None:
            _rule(cast, candidate_id=later.result.candidate_id, verb=verb)
    state_fact(cast, value="proxy", key="outage.cause", kind=CandidateKind.LEAD)
    _leave_work(cast)
    _revoke_another(cast)
    with tenant_context(cast.tenant_id):
        index_memory(tenant_id=cast.tenant_id, memory_id=memory_id, now=clock.now())
        _add_rows(cast)
        _add_answers(cast)
    _reflect(cast, memory_id)
    recall_memories(caller=cast.caller, question=RecallInput(query="django"), now=clock.now())
    seal_ledger(tenant_id=cast.tenant_id, now=clock.now(), waits=True)
    with tenant_context(cast.tenant_id, read_only=True):
        ids = {name: str(fetch_all(sql=sql, params=[])[0][0]) for name, sql in _IDS.items()}
    return World(cast, {**ids, "memory": memory_id, "tenant": cast.tenant_id})


def _reflect(cast: Cast, memory_id: str) -> None:
    """Let a memory rest on one that rests on another, and point at a document."""
    first = reflect(cast, (memory_id, 2), key="rests.first").result
    reflect(cast, (str(first.memory_id), 1), key="rests.second")
    proposal = CandidateInput(
        scope=SCOPE,
        subject="product:django",
        fact_key="in.a.document",
        content="words",
        value="x",
        evidence=(DocumentInput(ref="docs/terms.md", revision="3f2c", quote="words", position="line 1"),),
    )
    propose_candidate(caller=cast.caller, proposal=proposal, now=clock.now())


def _rule(cast: Cast, *, candidate_id: str, verb: Verb) -> None:
    with tenant_context(cast.tenant_id, read_only=True):
        item_id = fetch_all(sql="SELECT id::text FROM review_items WHERE candidate_id = %s", params=[candidate_id])[0][
            0
        ]
    resolution = Resolution(item_id=item_id, verb=verb, expected_version=2, reason="outdated", note="a reason")
    resolve_review(caller=cast.person(cast.rita), resolution=resolution, now=clock.now())


def _leave_work(cast: Cast) -> None:
    event = EventInput(
        event_id="waits", scope=SCOPE, source_type="commit", occurred_at=EARLY, payload={"text": "words"}
    )
    ingest_events(caller=cast.caller, events=[event], now=clock.now())
    proposal = CandidateInput(
        scope=SCOPE,
        subject="product:django",
        fact_key="waits",
        content="words",
        value="x",
        evidence=(EvidenceInput("waits", span=(0, 5)),),
    )
    propose_candidate(caller=cast.caller, proposal=proposal, now=clock.now())


def _revoke_another(cast: Cast) -> None:
    state_fact(cast, value="1", subject="product:gone")
    with tenant_context(cast.tenant_id, read_only=True):
        subject_id = fetch_all(sql="SELECT id::text FROM subjects WHERE label = 'product:gone'", params=[])[0][0]
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.SUBJECT,
        target_id=subject_id,
        reason="user_request",
        now=clock.now(),
    )


def _add_rows(cast: Cast) -> None:
    """Add what no use case writes yet."""
    tenant, now = cast.tenant, clock.now()
    create_scope(tenant=tenant, kind="project", key="empty", name="Empty", owner=cast.alice, now=now)
    for table, changes in _LONE:
        copy_row(table=table, changes=changes)
    first = Evidence.objects.filter(kind="event_span", evidence_key__startswith="ev_").order_by("id")[0]
    above, below, derived = (Evidence.objects.get(evidence_key=key) for key in ("above", "below", "derived"))
    EvidenceEdge.objects.create(tenant=tenant, child=below, parent=above)
    EvidenceEdge.objects.create(tenant=tenant, child=derived, parent=first)
    for held in EvidenceRoot.objects.filter(evidence=first):
        EvidenceRoot.objects.create(tenant=tenant, evidence=derived, root=held.root)
    IdempotencyKey.objects.create(
        tenant=tenant, principal=cast.agent, key_digest="k", request_digest="r", created_at=now
    )
    subject_id = fetch_all(sql="SELECT id FROM subjects ORDER BY id LIMIT 1", params=[])[0][0]
    SubjectAlias.objects.create(tenant=tenant, subject_id=subject_id, key_digest="a", label="alias")
    SubjectMention.objects.create(tenant=tenant, subject_id=subject_id, mention_digest="m", label="mention")
    ScreeningPattern.objects.create(tenant=tenant, kind="number", pattern="KD-[0-9]+", created_at=now)
    Subject.objects.create(tenant=tenant, key_digest="u", label="he", is_unclear=True, created_at=now)


def _add_answers(cast: Cast) -> None:
    """Add what a model answered about an event, and a question that it has not answered."""
    event_id = fetch_all(sql="SELECT id FROM source_events ORDER BY id LIMIT 1", params=[])[0][0]
    asked = {"tenant": cast.tenant, "event_id": event_id, "model": "m", "tokens": 5, "asked_at": clock.now()}
    ModelAnswer.objects.create(
        **asked, extractor_version="m/1", question_digest="a", answer="{}", answered_at=clock.now()
    )
    ModelAnswer.objects.create(**asked, extractor_version="m/1", question_digest="b")


def copy_row(*, table: str, changes: dict[str, str]) -> None:
    """Insert a copy of some row that nothing else points at."""
    changes = {"id": str(new_id()), **changes}
    fetch_all(
        sql=f"INSERT INTO {table} SELECT (jsonb_populate_record(held, %s::jsonb)).*"
        f" FROM {table} held ORDER BY id LIMIT 1",
        params=[json.dumps(changes)],
    )


_LONE = (
    ("source_events", {"event_key_digest": "lone"}),
    ("evidence", {"evidence_key": "lone"}),
    ("evidence", {"evidence_key": "erased", "availability": "erased"}),
    ("evidence", {"evidence_key": "above"}),
    ("evidence", {"evidence_key": "below"}),
    ("evidence", {"evidence_key": "derived"}),
    ("memory_heads", {"fact_key": "lone"}),
    ("memory_candidates", {"fact_key": "lone", "status": "pending"}),
)
_IDS = {
    "lead": "SELECT id FROM memory_candidates WHERE kind = 'lead'",
    "lead_claim": "SELECT claim.id FROM memory_evidence claim JOIN memory_candidates held"
    " ON held.id = claim.candidate_id WHERE held.kind = 'lead'",
    "lead_version": "SELECT part.id FROM memory_versions part JOIN memory_candidates held"
    " ON held.id = part.candidate_id WHERE held.kind = 'lead'",
    "basis": "SELECT basis.id FROM memory_bases basis JOIN memory_heads head ON head.id = basis.memory_id"
    " WHERE head.fact_key = 'rests.first'",
    "upper_basis": "SELECT basis.id FROM memory_bases basis JOIN memory_heads head ON head.id = basis.memory_id"
    " WHERE head.fact_key = 'rests.second'",
    "document": "SELECT evidence_id FROM evidence_documents",
    "lone_scope": "SELECT id FROM scopes WHERE key = 'empty'",
    "lone_event": "SELECT id FROM source_events WHERE event_key_digest = 'lone'",
    "lone_evidence": "SELECT id FROM evidence WHERE evidence_key = 'lone'",
    "lone_head": "SELECT id FROM memory_heads WHERE fact_key = 'lone'",
    "lone_candidate": "SELECT id FROM memory_candidates WHERE fact_key = 'lone'",
    "lone_decision": "SELECT id FROM merge_decisions WHERE action = 'CONFLICT' ORDER BY id LIMIT 1",
    "scope": "SELECT id FROM scopes WHERE key = 'platform'",
    "event": "SELECT id FROM source_events ORDER BY id LIMIT 1",
    "evidence": "SELECT id FROM evidence WHERE kind = 'event_span' ORDER BY id LIMIT 1",
    "derived": "SELECT id FROM evidence WHERE evidence_key = 'derived'",
    "edge": "SELECT edge.id FROM evidence_edges edge JOIN evidence child ON child.id = edge.child_id"
    " WHERE child.evidence_key = 'below'",
    "root": "SELECT root.id FROM evidence_roots root JOIN evidence held ON held.id = root.evidence_id"
    " WHERE held.evidence_key = 'derived'",
    "link": "SELECT id FROM candidate_evidence ORDER BY id LIMIT 1",
    "held": "SELECT id FROM memory_versions WHERE recorded_to IS NULL AND state = 'active' AND version = 2"
    " ORDER BY valid_from DESC, id LIMIT 1",
    "closed": "SELECT id FROM memory_versions WHERE superseded_by IS NOT NULL ORDER BY id LIMIT 1",
    "revoked": "SELECT id FROM memory_versions WHERE state = 'revoked'",
    "pending": "SELECT id FROM memory_candidates WHERE fact_key = 'waits'",
    "accepted": "SELECT id FROM memory_candidates WHERE status = 'accepted' ORDER BY id LIMIT 1",
    "claim": "SELECT id FROM memory_evidence WHERE withdrawn_by IS NULL AND superseded_at IS NULL ORDER BY id LIMIT 1",
    "withdrawn": "SELECT id FROM memory_evidence WHERE withdrawn_by IS NOT NULL",
    "dismissed": "SELECT id FROM memory_evidence WHERE superseded_by IS NOT NULL ORDER BY id LIMIT 1",
    "decision": "SELECT id FROM merge_decisions WHERE action = 'ADD' ORDER BY id LIMIT 1",
    "ruling": "SELECT id FROM rulings WHERE winner IS NOT NULL",
    "conflict": "SELECT id FROM conflict_sets WHERE state = 'open'",
    "member": "SELECT id FROM conflict_members ORDER BY id LIMIT 1",
    "item": "SELECT id FROM review_items WHERE state = 'open' ORDER BY id LIMIT 1",
    "job": "SELECT id FROM processing_jobs WHERE kind = 'consolidate' AND state = 'queued'",
    "told": "SELECT id FROM outbox WHERE state = 'waiting' ORDER BY id LIMIT 1",
    "revocation": "SELECT id FROM revocations",
    "audit": "SELECT id FROM audit_events ORDER BY id LIMIT 1",
    "seal": "SELECT id FROM ledger_seals ORDER BY number LIMIT 1",
    "entry": "SELECT id FROM ledger_entries ORDER BY position LIMIT 1",
    "subject": "SELECT id FROM subjects WHERE NOT is_unclear ORDER BY id LIMIT 1",
    "alias": "SELECT id FROM subject_aliases",
    "mention": "SELECT id FROM subject_mentions",
    "unclear": "SELECT id FROM subjects WHERE is_unclear",
    "decided_item": "SELECT id FROM review_items WHERE state = 'decided' ORDER BY id LIMIT 1",
    "settled_conflict": "SELECT id FROM conflict_sets WHERE state <> 'open' ORDER BY id LIMIT 1",
    "model_answer": "SELECT id FROM model_answers WHERE answer <> ''",
    "silent_model": "SELECT id FROM model_answers WHERE answered_at IS NULL",
    "erased_evidence": "SELECT id FROM evidence WHERE evidence_key = 'erased'",
}
