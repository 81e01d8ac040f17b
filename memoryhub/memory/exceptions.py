"""What may stand in the way of a change to a memory, told apart from each other."""

from __future__ import annotations

from memoryhub.lib.db import name_constraint


class StaleHead(Exception):
    """Say that another version was committed since the caller read the memory."""

    def __init__(self, current: int | None = None) -> None:
        """Keep the version that stands now."""
        super().__init__(f"the memory stands at version {current}")
        self.current = current


class SourceRevoked(Exception):
    """Say that a barrier stands in front of the source, subject, key or memory."""

    def __init__(self, barrier: str = "") -> None:
        """Keep the id of the barrier."""
        super().__init__("a barrier stands in front of this material")
        self.barrier = barrier


class MemoryNotFound(Exception):
    """Say that there is no such memory, or none the caller may know of."""


class EventReceivedMeanwhile(Exception):
    """Say that the same event was received by another request at the same time."""


class CandidateProposedMeanwhile(Exception):
    """Say that the same candidate was proposed by another request at the same time."""


class DeclaredMeanwhile(Exception):
    """Say that what a name means was declared at the same time: read it again."""


class ImmutableRecord(Exception):
    """Say that something was to be changed that never changes."""


class OverlappingPart(Exception):
    """Say that two parts of a memory would hold at one pair of instants."""


name_constraint(name="source_events_are_received_once", exception=EventReceivedMeanwhile)
name_constraint(name="memory_candidates_are_extracted_once", exception=CandidateProposedMeanwhile)
for _name in ("subjects_are_no_alias", "memory_heads_follow_the_cardinality"):
    name_constraint(name=_name, exception=DeclaredMeanwhile)
name_constraint(name="memory_versions_no_overlap", exception=OverlappingPart)
for _name in (
    "source_events_never_change",
    "source_event_bodies_change_only_to_erased",
    "evidence_bodies_change_only_to_erased",
    "evidence_keeps_its_identity",
    "memory_versions_are_never_rewritten",
    "memory_heads_version_rises_by_one",
    "memory_evidence_is_superseded_once",
    "memory_candidates_keep_what_they_proposed",
    "merge_decisions_never_change",
    "rulings_never_change",
):
    name_constraint(name=_name, exception=ImmutableRecord)
