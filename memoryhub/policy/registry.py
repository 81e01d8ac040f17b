"""The registry of policies: kind and version lead to a function; an application adds its own.

An installed package adds one by an entry point in the group `memoryhub.policies`, named `kind/version`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from memoryhub.policy import interfaces
from memoryhub.policy.admission import admit_candidate
from memoryhub.policy.forgetting import find_fading
from memoryhub.policy.granularity import is_time_to_reflect
from memoryhub.policy.merge import decide
from memoryhub.policy.projection import value_memory
from memoryhub.policy.trigger import list_extractors

GROUP = "memoryhub.policies"

_trigger_v1: interfaces.Trigger = list_extractors
_admission_v1: interfaces.AdmissionCheck = admit_candidate
_granularity_v1: interfaces.Granularity = is_time_to_reflect
_forgetting_v1: interfaces.Forgetting = find_fading
_merge_v1: interfaces.Merge = decide
_projection_v1: interfaces.Projection = value_memory

POLICIES: dict[tuple[str, str], Callable[..., Any]] = {
    ("trigger", "v1"): _trigger_v1,
    ("admission", "v1"): _admission_v1,
    ("granularity", "v1"): _granularity_v1,
    ("forgetting", "v1"): _forgetting_v1,
    ("merge", "v1"): _merge_v1,
    ("projection", "v1"): _projection_v1,
}


class UnknownPolicy(LookupError):
    """Say that no policy of that kind and version is installed."""


class PolicyTaken(ValueError):
    """Say that two installed policies claim one kind and version."""


@cache
def load_policies() -> dict[tuple[str, str], Callable[..., Any]]:
    """Return the shipped policies and those of installed packages.

    Raises:
        PolicyTaken: an installed package names a kind and version that is there already.
    """
    found = dict(POLICIES)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        kind, _, version = entry.name.partition("/")
        if (kind, version) in found:
            raise PolicyTaken(f"{entry.name} is there already")
        found[kind, version] = entry.load()
    return found


def get_policy(*, kind: str, version: str) -> Callable[..., Any]:
    """Return the function of a kind and version.

    Raises:
        UnknownPolicy: none is installed under that name.
    """
    try:
        return load_policies()[kind, version]
    except KeyError as error:
        raise UnknownPolicy(f"no policy {kind}/{version}") from error
