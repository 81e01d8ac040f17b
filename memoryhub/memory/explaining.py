"""Explain what may change: each such column is what decisions and revocations say they made of it.

A decision and a revocation write down, in `effects`, what they changed in rows that may change. They themselves never
change and are sealed, so a column that they do not explain was changed by somebody else. What was decided before
effects were kept (NULL) is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryhub.kernel.seals import Finding
from memoryhub.lib.db import fetch_all

if TYPE_CHECKING:
    from collections.abc import Iterator

# Memories of which some decision was made before effects were kept.
_LEGACY = """
    legacy AS (
        SELECT DISTINCT memory_id FROM merge_decisions
        WHERE tenant_id = %(tenant)s AND effects IS NULL AND memory_id IS NOT NULL
        UNION SELECT claim.memory_id FROM memory_evidence claim
        JOIN revocations barrier ON barrier.tenant_id = claim.tenant_id AND barrier.id = claim.withdrawn_by
        WHERE claim.tenant_id = %(tenant)s AND barrier.effects IS NULL
    )
"""
_BARRIERS = """
    barriers AS (SELECT * FROM revocations WHERE tenant_id = %(tenant)s AND effects IS NOT NULL),
    ends AS (
        SELECT barriers.id, barriers.recorded_at, barriers.epoch, (said->>'memory')::uuid AS memory_id,
            (said->>'version')::int AS version, (said->>'recorded_at')::timestamptz AS ended_at
        FROM barriers, jsonb_array_elements(effects->'ends') AS said
    )
"""

# Each query answers (row id, what is wrong). They are written so that nothing at all comes back from a sound ledger.
_VERSIONS = f"""
    WITH {_LEGACY}, {_BARRIERS},
    closed AS (
        SELECT closes::uuid AS id, decision.recorded_at FROM merge_decisions decision,
            jsonb_array_elements_text(effects->'closes') AS closes
        WHERE decision.tenant_id = %(tenant)s
        UNION ALL
        SELECT held.id, ends.ended_at FROM barriers
        CROSS JOIN LATERAL jsonb_array_elements_text(effects->'closes') AS closes
        JOIN memory_versions held ON held.id = closes::uuid
        JOIN ends ON ends.memory_id = held.memory_id AND ends.id = barriers.id
    ), hidden AS (
        SELECT DISTINCT hides::uuid AS id FROM barriers, jsonb_array_elements_text(effects->'hides') AS hides
    ), asked AS (
        SELECT DISTINCT reviews::uuid AS id FROM merge_decisions decision,
            jsonb_array_elements_text(effects->'reviews') AS reviews
        WHERE decision.tenant_id = %(tenant)s
    )
    SELECT held.id::text, CASE
        WHEN held.recorded_to IS DISTINCT FROM closed.recorded_at
            THEN 'recorded_to is not the instant of the decision that closed it'
        WHEN held.superseded_by IS DISTINCT FROM successor.id THEN 'superseded_by is not the row that supersedes it'
        WHEN held.state <> 'erased' AND held.state <> CASE
                WHEN hidden.id IS NOT NULL THEN 'revoked'
                WHEN asked.id IS NOT NULL THEN 'needs_review'
                WHEN closed.id IS NOT NULL THEN 'superseded' ELSE 'active' END
            THEN 'no decision and no revocation makes it ' || held.state
        WHEN decision.id IS NULL OR decision.memory_id <> held.memory_id
                OR decision.resulting_version <> held.version OR decision.recorded_at <> held.recorded_from
            THEN 'it is not of the decision that it names'
        WHEN made.id IS NULL OR made.value_digest IS DISTINCT FROM held.value_digest
                OR (made.erased_at IS NULL AND held.state <> 'erased' AND made.content_hash <> held.content_hash)
            THEN 'it does not say what its candidate says'
        END
    FROM memory_versions held
    LEFT JOIN closed ON closed.id = held.id
    LEFT JOIN hidden ON hidden.id = held.id
    LEFT JOIN asked ON asked.id = held.id
    LEFT JOIN memory_versions successor ON successor.tenant_id = held.tenant_id
        AND successor.memory_id = held.memory_id AND successor.supersedes = held.id
    LEFT JOIN merge_decisions decision ON decision.tenant_id = held.tenant_id AND decision.id = held.decision_id
    LEFT JOIN memory_candidates made ON made.tenant_id = held.tenant_id AND made.id = held.candidate_id
    WHERE held.tenant_id = %(tenant)s AND held.memory_id NOT IN (SELECT memory_id FROM legacy)
"""  # noqa: S608  constants of this module
_CLAIMS = f"""
    WITH {_LEGACY}, {_BARRIERS},
    dismissed AS (
        SELECT decision.memory_id, said.kind, said.source, said.statement,
            array_agg((said.ruling, decision.recorded_at)::text) AS ways
        FROM merge_decisions decision, jsonb_to_recordset(effects->'dismisses')
            AS said (kind text, source uuid, statement int, ruling uuid)
        WHERE decision.tenant_id = %(tenant)s GROUP BY 1, 2, 3, 4
    ), taken AS (
        SELECT claim::uuid AS id, barriers.id AS by_id
        FROM barriers, jsonb_array_elements_text(effects->'withdraws') AS claim
        UNION ALL
        SELECT claim.id, decision.id
        FROM merge_decisions decision, jsonb_to_recordset(effects->'withdraws')
            AS said (kind text, source uuid, statement int)
        JOIN memory_evidence claim ON claim.tenant_id = %(tenant)s AND claim.source_kind = said.kind
            AND claim.source_id = said.source AND claim.statement = said.statement
        WHERE decision.tenant_id = %(tenant)s AND claim.memory_id = decision.memory_id
    ), withdrawn AS (
        SELECT id, array_agg(by_id) AS ways FROM taken GROUP BY id
    )
    SELECT held.id::text, CASE
        WHEN (held.superseded_by IS NULL) <> (dismissed.ways IS NULL)
                OR NOT coalesce((held.superseded_by, held.superseded_at)::text = ANY (dismissed.ways), true)
            THEN 'it is not dismissed by the ruling, or at the instant, that a decision says'
        WHEN (held.withdrawn_by IS NULL) <> (withdrawn.ways IS NULL)
                OR NOT coalesce(held.withdrawn_by = ANY (withdrawn.ways), true)
            THEN 'withdrawn_by is not the revocation or the decision that took it out'
        WHEN made.id IS NULL OR (made.value_digest, made.stance, made.author_id)
                IS DISTINCT FROM (held.value_digest, held.stance, held.author_id)
            THEN 'it does not say what its candidate says'
        END
    FROM memory_evidence held
    LEFT JOIN dismissed ON (dismissed.memory_id, dismissed.kind, dismissed.source, dismissed.statement)
        = (held.memory_id, held.source_kind, held.source_id, held.statement)
    LEFT JOIN withdrawn ON withdrawn.id = held.id
    LEFT JOIN memory_candidates made ON made.tenant_id = held.tenant_id AND made.id = held.candidate_id
    WHERE held.tenant_id = %(tenant)s AND held.memory_id NOT IN (SELECT memory_id FROM legacy)
"""  # noqa: S608  constants of this module
# A status only moves on: what a person is asked comes before what waits in a conflict, then accepted, then rejected.
_CANDIDATES = """
    WITH made AS (
        SELECT said.id, array_position(ARRAY['needs_confirmation', 'pending', 'accepted', 'rejected'], said.status)
                AS place,
            array_agg((said.status, said.reason, CASE WHEN said.status IN ('accepted', 'rejected')
                                                 THEN decision.recorded_at END)::text) AS ways
        FROM merge_decisions decision, jsonb_to_recordset(effects->'statuses')
            AS said (id uuid, status text, reason text)
        WHERE decision.tenant_id = %(tenant)s GROUP BY 1, 2
    ), last AS (
        SELECT DISTINCT ON (id) id, ways FROM made ORDER BY id, place DESC
    ), own AS (
        SELECT candidate_id, (array_agg(memory_id) FILTER (WHERE memory_id IS NOT NULL))[1] AS memory_id,
            bool_or(effects IS NULL) AS is_legacy
        FROM merge_decisions WHERE tenant_id = %(tenant)s AND candidate_id IS NOT NULL GROUP BY candidate_id
    )
    SELECT held.id::text, CASE
        WHEN own.is_legacy THEN NULL
        WHEN last.id IS NULL AND (held.reason <> '' OR held.decided_at IS NOT NULL
                OR held.status <> 'pending')
            THEN 'no decision makes it ' || held.status
        WHEN last.id IS NOT NULL AND (held.status, held.reason, held.decided_at)::text <> ALL (last.ways)
            THEN 'no decision makes it ' || held.status || ' for that reason at that instant'
        WHEN held.memory_id IS DISTINCT FROM own.memory_id THEN 'its memory is not that of its decision'
        END
    FROM memory_candidates held
    LEFT JOIN last ON last.id = held.id
    LEFT JOIN own ON own.candidate_id = held.id
    WHERE held.tenant_id = %(tenant)s
"""
# What was received under an epoch keeps it until a requeue is recorded.
_EPOCHS = """
    WITH requeued AS (
        SELECT (object_ids->>'candidate')::uuid AS id, max((object_ids->>'epoch')::bigint) AS epoch
        FROM audit_events WHERE tenant_id = %(tenant)s AND action = 'candidate.requeued' GROUP BY 1
    ), received AS (
        SELECT held.id, least(min(quoted.deletion_epoch), min(record.deletion_epoch)) AS epoch
        FROM memory_candidates held
        JOIN source_events record ON record.tenant_id = held.tenant_id AND record.id = held.source_event_id
        LEFT JOIN candidate_evidence link ON link.tenant_id = held.tenant_id AND link.candidate_id = held.id
        LEFT JOIN evidence item ON item.tenant_id = held.tenant_id AND item.id = link.evidence_id
        LEFT JOIN source_events quoted ON quoted.tenant_id = held.tenant_id AND quoted.id = item.event_id
        WHERE held.tenant_id = %(tenant)s GROUP BY held.id
    )
    SELECT held.id::text, 'no source and no requeue has its epoch'
    FROM memory_candidates held
    LEFT JOIN received ON received.id = held.id
    LEFT JOIN requeued ON requeued.id = held.id
    WHERE held.tenant_id = %(tenant)s
      AND held.deletion_epoch IS DISTINCT FROM coalesce(requeued.epoch, received.epoch)
"""
_HEADS = f"""
    WITH {_LEGACY}, {_BARRIERS},
    moves AS (
        SELECT memory_id, resulting_version AS version, recorded_at, deletion_epoch,
            (facts->>'decided_for')::timestamptz AS derived_at
        FROM merge_decisions
        WHERE tenant_id = %(tenant)s AND memory_id IS NOT NULL AND resulting_version > expected_version
        UNION ALL
        SELECT memory_id, version, ended_at, epoch, recorded_at FROM ends
    ), counted AS (
        SELECT memory_id, count(*) AS moves, count(DISTINCT version) AS versions, min(version) AS first,
            max(version) AS newest, min(recorded_at) AS created_at
        FROM moves GROUP BY memory_id
    )
    SELECT coalesce(held.id, counted.memory_id)::text, CASE
        WHEN held.id IS NULL THEN 'decisions name it, and it is not there'
        WHEN counted.memory_id IS NULL THEN 'no decision made it'
        WHEN held.version <> newest OR first <> 1 OR moves <> versions OR versions <> newest
            THEN 'its versions are not one each, up to the newest'
        WHEN (held.last_recorded_at, held.deletion_epoch, held.derived_at)
                IS DISTINCT FROM (last.recorded_at, last.deletion_epoch, last.derived_at)
            THEN 'its instants and its epoch are not those of its newest version'
        WHEN held.created_at <> counted.created_at THEN 'it was not created then'
        WHEN EXISTS (
            SELECT FROM memory_evidence claim
            JOIN memory_candidates made ON made.tenant_id = claim.tenant_id AND made.id = claim.candidate_id
            WHERE claim.tenant_id = held.tenant_id AND claim.memory_id = held.id
              AND ((made.scope_id, made.subject_id, made.memory_type, made.fact_key, made.conditions_digest)
                      <> (held.scope_id, held.subject_id, held.memory_type, held.fact_key, held.conditions_digest)
                   OR held.value_key NOT IN ('', coalesce(made.value_digest, '')) OR held.authority <> made.authority
                   OR (made.erased_at IS NULL AND made.conditions <> held.conditions)))
            THEN 'its key is not that of its claims'
        WHEN ended.id IS NOT NULL AND (held.modality, held.confidence, held.support, held.opposition,
                held.independent_evidence_count, held.has_open_conflict) <> ('possible', 0, 0, 0, 0, false)
            THEN 'it ended, and is believed'
        END
    FROM (SELECT * FROM memory_heads WHERE tenant_id = %(tenant)s) held
    FULL JOIN counted ON counted.memory_id = held.id
    LEFT JOIN moves last ON last.memory_id = counted.memory_id AND last.version = counted.newest
    LEFT JOIN ends ended ON ended.memory_id = held.id AND ended.version = held.version
    WHERE coalesce(held.id, counted.memory_id) NOT IN (SELECT memory_id FROM legacy)
"""  # noqa: S608  constants of this module
_CONFLICTS = f"""
    WITH {_LEGACY}, {_BARRIERS},
    said AS (
        SELECT (effects#>>'{{conflict,id}}')::uuid AS id, memory_id, resulting_version AS version, recorded_at,
            effects->'conflict' AS what
        FROM merge_decisions WHERE tenant_id = %(tenant)s AND effects ? 'conflict'
        UNION ALL
        SELECT held.id, ends.memory_id, ends.version, ends.recorded_at, '{{"state": "dissolved"}}'
        FROM ends JOIN conflict_sets held ON held.tenant_id = %(tenant)s AND held.memory_id = ends.memory_id
        WHERE held.opened_at <= ends.ended_at AND (held.closed_at IS NULL OR held.closed_at >= ends.recorded_at)
          AND NOT EXISTS (
              SELECT FROM merge_decisions decision
              WHERE decision.tenant_id = %(tenant)s AND decision.memory_id = ends.memory_id
                AND (decision.effects#>>'{{conflict,id}}')::uuid = held.id
                AND decision.effects#>>'{{conflict,state}}' <> 'open')
    ), last AS (
        SELECT DISTINCT ON (id) * FROM said ORDER BY id, version DESC
    ), opened AS (
        SELECT DISTINCT ON (id) * FROM said WHERE what->>'state' = 'open' ORDER BY id, version
    ), shown AS (
        SELECT DISTINCT ON (id) * FROM said WHERE what->>'state' = 'open' ORDER BY id, version DESC
    )
    SELECT coalesce(held.id, last.id)::text, CASE
        WHEN held.id IS NULL THEN 'a decision opened it, and it is not there'
        WHEN last.id IS NULL OR held.memory_id <> last.memory_id THEN 'no decision of its memory opened it'
        WHEN held.state <> last.what->>'state' OR held.closed_at IS DISTINCT FROM
                CASE WHEN last.what->>'state' <> 'open' THEN last.recorded_at END
            THEN 'no decision made it ' || held.state || ' at that instant'
        WHEN held.opened_at <> opened.recorded_at THEN 'it was not opened then'
        WHEN (held.reason, held.standing, held.opened_from) IS DISTINCT FROM
                (shown.what->>'reason', shown.what->>'standing', (shown.what->>'opened_from')::timestamptz)
            OR held.kept_at IS DISTINCT FROM CASE WHEN (shown.what->>'kept')::boolean THEN shown.recorded_at END
            THEN 'it is not what the last decision on it says'
        END
    FROM (SELECT * FROM conflict_sets WHERE tenant_id = %(tenant)s) held
    FULL JOIN last ON last.id = held.id
    LEFT JOIN opened ON opened.id = held.id
    LEFT JOIN shown ON shown.id = held.id
    WHERE coalesce(held.memory_id, last.memory_id) NOT IN (SELECT memory_id FROM legacy)
"""  # noqa: S608  constants of this module
# A member joined by the first decision that names it, and left by the first after the last one that does.
_MEMBERS = f"""
    WITH {_LEGACY},
    said AS (
        SELECT (effects#>>'{{conflict,id}}')::uuid AS id, resulting_version AS version, recorded_at, memory_id,
            effects#>'{{conflict,members}}' AS members, lead(recorded_at) OVER (
                PARTITION BY effects#>>'{{conflict,id}}' ORDER BY resulting_version) AS next_at
        FROM merge_decisions
        WHERE tenant_id = %(tenant)s AND effects#>>'{{conflict,state}}' = 'open'
    ), expected AS (
        SELECT said.id, member.source, (array_agg(said.memory_id))[1] AS memory_id,
            (array_agg(member.candidate ORDER BY version))[1] AS candidate,
            (array_agg(member.is_standing ORDER BY version DESC))[1] AS is_standing,
            (array_agg(recorded_at ORDER BY version))[1] AS joined_at,
            (array_agg(next_at ORDER BY version DESC))[1] AS left_at
        FROM said, jsonb_to_recordset(members) AS member (source text, candidate uuid, is_standing boolean)
        GROUP BY said.id, member.source
    )
    SELECT coalesce(held.id::text, expected.id || ' ' || expected.source), CASE
        WHEN held.id IS NULL THEN 'a decision names this member, and it is not there'
        WHEN expected.id IS NULL THEN 'no decision names this member'
        WHEN (held.is_standing, held.joined_at, held.left_at, held.candidate_id)
                IS DISTINCT FROM (expected.is_standing, expected.joined_at, expected.left_at, expected.candidate)
            THEN 'it is not the member that decisions say'
        END
    FROM (SELECT * FROM conflict_members WHERE tenant_id = %(tenant)s) held
    FULL JOIN expected ON expected.id = held.conflict_set_id AND expected.source = held.source
    LEFT JOIN conflict_sets owner ON owner.tenant_id = %(tenant)s AND owner.id = held.conflict_set_id
    WHERE coalesce(expected.memory_id, owner.memory_id, '00000000-0000-0000-0000-000000000000')
        NOT IN (SELECT memory_id FROM legacy)
"""  # noqa: S608  constants of this module
_RULINGS = """
    SELECT held.id::text, 'it is not of the decision and the evidence that it names'
    FROM rulings held
    LEFT JOIN merge_decisions decision ON decision.tenant_id = held.tenant_id AND decision.id = held.decision_id
    LEFT JOIN evidence item ON item.tenant_id = held.tenant_id AND item.id = held.evidence_id
    WHERE held.tenant_id = %(tenant)s
      AND (decision.memory_id, decision.decider_id, decision.recorded_at, item.kind, item.source_id)
          IS DISTINCT FROM (held.memory_id, held.decided_by_id, held.recorded_at, 'ruling', held.id)
"""
_EVIDENCE = """
    WITH barriers AS (
        SELECT target_id FROM revocations
        WHERE tenant_id = %(tenant)s AND target IN ('event', 'evidence', 'lineage') AND mode <> 'lifted'
    ), covered AS (
        SELECT id FROM evidence JOIN barriers ON barriers.target_id = evidence.id WHERE tenant_id = %(tenant)s
        UNION
        SELECT id FROM evidence JOIN barriers ON barriers.target_id = evidence.source_id WHERE tenant_id = %(tenant)s
    ), said AS (
        SELECT DISTINCT ON (object_ids->>'evidence') (object_ids->>'evidence')::uuid AS id, outcome FROM audit_events
        WHERE tenant_id = %(tenant)s AND action = 'evidence.availability_changed'
        ORDER BY object_ids->>'evidence', audit_events.id DESC
    )
    SELECT held.id::text, 'nothing makes it ' || held.availability
    FROM evidence held
    LEFT JOIN covered ON covered.id = held.id
    LEFT JOIN said ON said.id = held.id
    LEFT JOIN evidence_bodies words ON words.evidence_id = held.id
    WHERE held.tenant_id = %(tenant)s AND held.availability <> CASE
        WHEN words.erased_at IS NOT NULL AND held.availability = 'erased' THEN 'erased'
        WHEN covered.id IS NOT NULL AND held.availability = 'revoked' THEN 'revoked'
        WHEN covered.id IS NOT NULL AND coalesce(said.outcome, 'available') = 'available' THEN 'revoked'
        ELSE coalesce(said.outcome, 'available') END
"""
# Words go only where a revocation stands: of the scope, of the source, or of what a candidate made of it.
_ERASURES = """
    WITH barriers AS (SELECT * FROM revocations WHERE tenant_id = %(tenant)s),
    erased AS (
        SELECT 'source_event_bodies' AS name, record.id, record.scope_id, ARRAY[record.id, record.root] AS sources
        FROM source_event_bodies words JOIN source_events record ON record.id = words.event_id
        WHERE words.tenant_id = %(tenant)s AND words.erased_at IS NOT NULL
        UNION ALL
        SELECT 'evidence_bodies', item.id, item.scope_id, ARRAY[item.id, item.source_id, item.event_id]
        FROM evidence_bodies words JOIN evidence item ON item.id = words.evidence_id
        WHERE words.tenant_id = %(tenant)s AND words.erased_at IS NOT NULL
        UNION ALL
        SELECT 'evidence_documents', item.id, item.scope_id, ARRAY[item.id, item.source_id, item.event_id]
        FROM evidence_documents words JOIN evidence item ON item.id = words.evidence_id
        WHERE words.tenant_id = %(tenant)s AND words.erased_at IS NOT NULL
        UNION ALL
        SELECT 'memory_candidates', id, scope_id, ARRAY[id, source_event_id] FROM memory_candidates
        WHERE tenant_id = %(tenant)s AND erased_at IS NOT NULL
        UNION ALL
        SELECT 'memory_versions', held.id, held.scope_id, ARRAY[made.id, made.source_event_id] FROM memory_versions held
        JOIN memory_candidates made ON made.tenant_id = held.tenant_id AND made.id = held.candidate_id
        WHERE held.tenant_id = %(tenant)s AND held.state = 'erased'
    )
    SELECT erased.id::text, 'its words were erased, and no revocation covers it: ' || name
    FROM erased
    WHERE NOT EXISTS (
        SELECT FROM barriers
        WHERE barriers.scope_id = erased.scope_id AND CASE barriers.target
            WHEN 'scope' THEN true
            WHEN 'event' THEN barriers.target_id = ANY (sources)
            WHEN 'evidence' THEN barriers.target_id = ANY (sources) OR EXISTS (
                SELECT FROM evidence item WHERE item.tenant_id = barriers.tenant_id AND item.id = barriers.target_id
                  AND item.event_id = ANY (sources))
            WHEN 'lineage' THEN barriers.target_id = ANY (sources)
            ELSE EXISTS (
                SELECT FROM memory_candidates made
                WHERE made.tenant_id = barriers.tenant_id AND (made.id = ANY (sources)
                       OR made.source_event_id = ANY (sources))
                  AND CASE barriers.target
                      WHEN 'subject' THEN made.subject_id = barriers.target_id
                      WHEN 'memory' THEN made.memory_id = barriers.target_id
                      ELSE made.fact_key = barriers.target_key
                           AND (barriers.target_id IS NULL OR made.subject_id = barriers.target_id) END)
            END)
    UNION ALL
    SELECT event_id::text, 'somebody is said to have erased it, and it is whole' FROM source_event_bodies
    WHERE tenant_id = %(tenant)s AND erased_at IS NULL AND erased_by IS NOT NULL
    UNION ALL
    SELECT evidence_id::text, 'somebody is said to have erased it, and it is whole' FROM evidence_bodies
    WHERE tenant_id = %(tenant)s AND erased_at IS NULL AND erased_by IS NOT NULL
    UNION ALL
    SELECT evidence_id::text, 'somebody is said to have erased it, and it is whole' FROM evidence_documents
    WHERE tenant_id = %(tenant)s AND erased_at IS NULL AND erased_by IS NOT NULL
    UNION ALL
    SELECT coalesce(item.id, held.evidence_id)::text, 'a document is missing, or is of no evidence'
    FROM (SELECT * FROM evidence_documents WHERE tenant_id = %(tenant)s) held
    FULL JOIN (SELECT * FROM evidence WHERE tenant_id = %(tenant)s AND kind = 'document') item
        ON item.id = held.evidence_id
    WHERE item.id IS NULL OR held.evidence_id IS NULL
"""
_REVOCATIONS = """
    SELECT held.id::text, 'nobody made it ' || held.mode
    FROM revocations held
    WHERE held.tenant_id = %(tenant)s AND held.effects IS NOT NULL
      AND ((held.lifted_at IS NOT NULL) <> (held.mode = 'lifted') OR held.mode <> coalesce((
          SELECT said.outcome FROM audit_events said
          WHERE said.tenant_id = held.tenant_id AND said.action LIKE 'revocation.%%'
            AND said.object_ids->>'revocation' = held.id::text
          ORDER BY said.at DESC, said.id DESC LIMIT 1), held.effects->>'mode'))
"""
_SCOPES = """
    SELECT held.id::text, 'its epoch is not the number of its revocations'
    FROM scopes held
    WHERE held.tenant_id = %(tenant)s AND (held.deletion_epoch, held.deletion_epoch) <> (
        SELECT count(*), coalesce(max(epoch), 0) FROM revocations barrier
        WHERE barrier.tenant_id = held.tenant_id AND barrier.scope_id = held.id)
"""
# The index may lag behind by what is not delivered yet; it never runs ahead.
_DOCUMENTS = """
    SELECT held.id::text, 'it is not the document of its head'
    FROM search_documents held
    LEFT JOIN memory_heads head ON head.tenant_id = held.tenant_id AND head.id = held.memory_id
    WHERE held.tenant_id = %(tenant)s
      AND (head.id IS NULL OR head.scope_id <> held.scope_id OR held.applied_version > head.version
           OR (held.applied_version < head.version AND NOT EXISTS (
               SELECT FROM outbox waiting WHERE waiting.tenant_id = held.tenant_id AND waiting.key = head.id
                 AND waiting.delivered_at IS NULL)))
"""
# What waits for a person is in a queue.
_QUEUE = """
    SELECT held.id::text, 'a conflict waits for a person, and no review item says so'
    FROM conflict_sets held
    WHERE held.tenant_id = %(tenant)s AND held.state = 'open' AND held.kept_at IS NULL AND NOT EXISTS (
        SELECT FROM review_items item
        WHERE item.tenant_id = held.tenant_id AND item.object_id = held.id AND item.state = 'open')
    UNION ALL
    SELECT held.id::text, 'it waits for a person, and no review item says so'
    FROM memory_candidates held
    WHERE held.tenant_id = %(tenant)s AND held.status = 'needs_confirmation' AND NOT EXISTS (
        SELECT FROM review_items item
        WHERE item.tenant_id = held.tenant_id AND item.object_id = held.id AND item.state = 'open')
"""
CHECKS: dict[str, tuple[str, str]] = {
    "versions": ("memory_versions", _VERSIONS),
    "claims": ("memory_evidence", _CLAIMS),
    "candidates": ("memory_candidates", _CANDIDATES),
    "epochs": ("memory_candidates", _EPOCHS),
    "heads": ("memory_heads", _HEADS),
    "conflicts": ("conflict_sets", _CONFLICTS),
    "members": ("conflict_members", _MEMBERS),
    "rulings": ("rulings", _RULINGS),
    "evidence": ("evidence", _EVIDENCE),
    "erasures": ("source_event_bodies", _ERASURES),
    "revocations": ("revocations", _REVOCATIONS),
    "scopes": ("scopes", _SCOPES),
    "documents": ("search_documents", _DOCUMENTS),
    "queue": ("review_items", _QUEUE),
}


def check_effects(*, tenant_id: str) -> Iterator[Finding]:
    """Yield every row whose changing columns no decision and no revocation explains."""
    for table, query in CHECKS.values():
        rows = fetch_all(
            sql=f"SELECT * FROM ({query}) AS found (id, what) WHERE what IS NOT NULL",  # noqa: S608  constants above
            params={"tenant": tenant_id},
        )
        for row_id, what in rows:
            yield Finding("unexplained", table, row_id, what)
