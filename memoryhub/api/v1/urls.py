"""Addresses of version 1."""

from django.urls import path, re_path

from memoryhub.api.v1.base import NotThere
from memoryhub.api.v1.candidates import Candidate, Candidates
from memoryhub.api.v1.events import Events, EventStatus
from memoryhub.api.v1.me import Me
from memoryhub.api.v1.memories import AsOfView, Evidence, History, Memories, Memory
from memoryhub.api.v1.predicates import PredicateOfKey, Predicates
from memoryhub.api.v1.retrievals import Search, Usage

app_name = "api"
urlpatterns = [
    path("me", Me.as_view(), name="me"),
    path("events", Events.as_view(), name="events"),
    path("events/<path:event_id>/status", EventStatus.as_view(), name="event-status"),
    path("candidates", Candidates.as_view(), name="candidates"),
    path("candidates/<str:candidate_id>", Candidate.as_view(), name="candidate"),
    path("memories", Memories.as_view(), name="memories"),
    path("memories/search", Search.as_view(), name="search"),
    path("memories/<str:memory_id>", Memory.as_view(), name="memory"),
    path("memories/<str:memory_id>/history", History.as_view(), name="history"),
    path("memories/<str:memory_id>/evidence", Evidence.as_view(), name="evidence"),
    path("memories/<str:memory_id>/as-of", AsOfView.as_view(), name="as-of"),
    path("predicates", Predicates.as_view(), name="predicates"),
    path("predicates/<str:fact_key>", PredicateOfKey.as_view(), name="predicate"),
    path("retrievals/<str:run_id>/usage", Usage.as_view(), name="usage"),
    re_path(r"^.*\Z", NotThere.as_view(schema=None)),
]
