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
        SELECT decision.memory_id, said->>'kind' AS kind, (said->>'source')::uuid AS source,
            (said->>'statement')::int AS statement, (said->>'ruling')::uuid AS ruling, decision.recorded_at
        FROM merge_decisions decision, jsonb_array_elements(effects->'dismisses') AS said
        WHERE decision.tenant_id = %(tenant)s
    ), withdrawn AS (
        SELECT claim::uuid AS id, barriers.id AS barrier
        FROM barriers, jsonb_array_elements_text(effects->'withdraws') AS claim
        UNION ALL
        SELECT gone.id, decision.id FROM merge_decisions decision, jsonb_array_elements(effects->'withdraws') AS said
        JOIN memory_evidence gone ON (gone.source_kind, gone.source_id, gone.statement)
            = (said->>'kind', (said->>'source')::uuid, (said->>'statement')::int)
        WHERE decision.tenant_id = %(tenant)s AND gone.tenant_id = decision.tenant_id
          AND gone.memory_id = decision.memory_id
    )
    SELECT held.id::text, CASE
        WHEN held.superseded_by IS NULL AND EXISTS (
            SELECT FROM dismissed WHERE (dismissed.memory_id, kind, source, dismissed.statement)
                = (held.memory_id, held.source_kind, held.source_id, held.statement))
            THEN 'a ruling dismissed it, and it does not say so'
        WHEN held.superseded_by IS NOT NULL AND NOT EXISTS (
            SELECT FROM dismissed WHERE (dismissed.memory_id, kind, source, dismissed.statement, ruling,
                                         dismissed.recorded_at)
                = (held.memory_id, held.source_kind, held.source_id, held.statement, held.superseded_by,
                   held.superseded_at))
            THEN 'no decision dismissed it by that ruling at that instant'
        WHEN held.withdrawn_by IS DISTINCT FROM withdrawn.barrier
            THEN 'withdrawn_by is not the revocation or the decision that took it out'
        WHEN made.id IS NULL OR (made.value_digest, made.stance, made.author_id)
                IS DISTINCT FROM (held.value_digest, held.stance, held.author_id)
            THEN 'it does not say what its candidate says'
        END
    FROM memory_evidence held
    LEFT JOIN withdrawn ON withdrawn.id = held.id
    LEFT JOIN memory_candidates made ON made.tenant_id = held.tenant_id AND made.id = held.candidate_id
    WHERE held.tenant_id = %(tenant)s AND held.memory_id NOT IN (SELECT memory_id FROM legacy)
"""  # noqa: S608  constants of this module
# A status only moves on: what a person is asked comes before what waits in a conflict, then accepted, then rejected.
_CANDIDATES = """
    WITH made AS (
        SELECT (said->>'id')::uuid AS id, said->>'status' AS status, said->>'reason' AS reason, decision.recorded_at,
            array_position(ARRAY['needs_confirmation', 'pending', 'accepted', 'rejected'], said->>'status') AS place
        FROM merge_decisions decision, jsonb_array_elements(effects->'statuses') AS said
        WHERE decision.tenant_id = %(tenant)s
    ), last AS (
        SELECT id, max(place) AS place FROM made GROUP BY id
    ), own AS (
        SELECT candidate_id, (array_agg(memory_id) FILTER (WHERE memory_id IS NOT NULL))[1] AS memory_id,
            bool_or(effects IS NULL) AS is_legacy
        FROM merge_decisions WHERE tenant_id = %(tenant)s AND candidate_id IS NOT NULL GROUP BY candidate_id
    )
    SELECT held.id::text, CASE
        WHEN own.is_legacy THEN NULL
        WHEN last.id IS NULL AND (held.status, held.reason) <> ('pending', '') AND held.status <> 'superseded'
            THEN 'no decision makes it ' || held.status
        WHEN last.id IS NOT NULL AND NOT EXISTS (
            SELECT FROM made WHERE made.id = held.id AND made.place = last.place
                AND (made.status, made.reason) = (held.status, held.reason)
                AND held.decided_at IS NOT DISTINCT FROM
                    CASE WHEN made.status IN ('accepted', 'rejected') THEN made.recorded_at END)
            THEN 'no decision makes it ' || held.status || ' for that reason at that instant'
        WHEN last.id IS NULL AND held.status = 'pending' AND held.decided_at IS NOT NULL THEN 'nothing decided it'
        WHEN held.memory_id IS DISTINCT FROM own.memory_id THEN 'its memory is not that of its decision'
        END
    FROM memory_candidates held
    LEFT JOIN last ON last.id = held.id
    LEFT JOIN own ON own.candidate_id = held.id
    WHERE held.tenant_id = %(tenant)s
"""
# What was received under an epoch keeps it until a requeue is recorded.
_EPOCHS = """
    SELECT held.id::text, 'no source and no requeue has its epoch'
    FROM memory_candidates held
    WHERE held.tenant_id = %(tenant)s
      AND held.deletion_epoch <> (
          SELECT min(record.deletion_epoch) FROM source_events record
          WHERE record.tenant_id = held.tenant_id AND record.id IN (
              SELECT held.source_event_id UNION SELECT item.event_id FROM candidate_evidence link
              JOIN evidence item ON item.tenant_id = link.tenant_id AND item.id = link.evidence_id
              WHERE link.tenant_id = held.tenant_id AND link.candidate_id = held.id AND item.event_id IS NOT NULL))
      AND held.deletion_epoch IS DISTINCT FROM (
          SELECT max((said.object_ids->>'epoch')::bigint) FROM audit_events said
          WHERE said.tenant_id = held.tenant_id AND said.action = 'candidate.requeued'
            AND said.object_ids->>'candidate' = held.id::text)
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
            effects#>'{{conflict,members}}' AS members
        FROM merge_decisions
        WHERE tenant_id = %(tenant)s AND effects#>>'{{conflict,state}}' = 'open'
    ), named AS (
        SELECT said.id, said.version, said.recorded_at, said.memory_id, member->>'source' AS source,
            (member->>'is_standing')::boolean AS is_standing, (member->>'candidate')::uuid AS candidate
        FROM said, jsonb_array_elements(said.members) AS member
    ), expected AS (
        SELECT id, source, memory_id, (array_agg(candidate ORDER BY version))[1] AS candidate,
            (array_agg(is_standing ORDER BY version DESC))[1] AS is_standing,
            (array_agg(recorded_at ORDER BY version))[1] AS joined_at, max(version) AS last_version
        FROM named GROUP BY id, source, memory_id
    ), whole AS (
        SELECT expected.*, (
            SELECT said.recorded_at FROM said WHERE said.id = expected.id AND said.version > expected.last_version
            ORDER BY said.version LIMIT 1) AS left_at
        FROM expected
    )
    SELECT coalesce(held.id::text, whole.id || ' ' || whole.source), CASE
        WHEN held.id IS NULL THEN 'a decision names this member, and it is not there'
        WHEN whole.id IS NULL THEN 'no decision names this member'
        WHEN (held.is_standing, held.joined_at, held.left_at, held.candidate_id)
                IS DISTINCT FROM (whole.is_standing, whole.joined_at, whole.left_at, whole.candidate)
            THEN 'it is not the member that decisions say'
        END
    FROM (SELECT * FROM conflict_members WHERE tenant_id = %(tenant)s) held
    FULL JOIN whole ON whole.id = held.conflict_set_id AND whole.source = held.source
    LEFT JOIN conflict_sets owner ON owner.tenant_id = %(tenant)s AND owner.id = held.conflict_set_id
    WHERE coalesce(whole.memory_id, owner.memory_id) NOT IN (SELECT memory_id FROM legacy)
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
    SELECT held.id::text, 'no revocation makes it ' || held.availability
    FROM evidence held
    LEFT JOIN evidence_bodies words ON words.evidence_id = held.id
    WHERE held.tenant_id = %(tenant)s AND held.availability NOT IN ('unreachable', 'expired')
      AND NOT (held.availability = 'erased' AND words.erased_at IS NOT NULL)
      AND (held.availability = 'revoked') <> EXISTS (
          SELECT FROM revocations barrier
          WHERE barrier.tenant_id = held.tenant_id AND barrier.target IN ('event', 'evidence', 'lineage')
            AND barrier.mode <> 'lifted' AND barrier.target_id IN (held.id, held.source_id))
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
