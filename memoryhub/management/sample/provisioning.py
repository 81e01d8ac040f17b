"""Set up the sample's tenant, people, agents, scopes and rights; once, whatever was there before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from memoryhub.access import operations
from memoryhub.access.callers import RELAY_USER, Caller, authenticate_token, describe_person, digest_secret
from memoryhub.access.models import ApiToken, Principal, PrincipalKind, Scope, Tenant
from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel.models import SourceEventBody
from memoryhub.management.sample.facts import BOT, FOLDER, name_maintainer
from memoryhub.review.models import ReviewItem
from memoryhub.types.enums import ReviewState
from memoryhub.types.ontology import Ontology, read_ontology
from memoryhub.usecases.declare import declare_ontology, read_declared

TENANT = "sample"
PROJECT = "endoflife"
PEOPLE_BEHIND_THE_FACTS = 26
MAINTAINERS = "maintainers"
PLANNER = "planner"
LEAD = "alice"
ADMIN = "admin"

READER = ("view_memory", "recall_memory")
REVIEWER = (*READER, "review_memory")
AGENT = (*READER, "ingest_event", "propose_memory")


@dataclass(frozen=True, slots=True)
class Person:
    """Describe somebody who can sign in: as what, to try what, with which rights on the project and on the tenant."""

    username: str
    name: str
    role: str
    can_try: str
    rights: tuple[str, ...] = ()
    tenant_rights: tuple[str, ...] = ()
    has_own_scope: bool = False


PEOPLE = (
    Person("mei", "Mei", "reviewer", "conflicts, own guesses", REVIEWER, has_own_scope=True),
    Person(
        LEAD,
        "Alice",
        "lead",
        "conflicts, own guesses",
        (*REVIEWER, "promote_memory", "administer_scope", "read_audit"),
        ("administer_tenant", "activate_policy"),
        has_own_scope=True,
    ),
    Person("bob", "Bob", "member", "memories", READER),
    Person(
        "dana",
        "Dana",
        "erasure, requests",
        "memories; no desk yet",
        ("view_memory", "request_erasure"),
        ("manage_holds",),
    ),
    Person(
        "erin",
        "Erin",
        "erasure, approves",
        "memories; no desk yet",
        ("view_memory", "approve_erasure"),
        ("reveal_identity",),
    ),
    Person("oscar", "Oscar", "operator", "dashboard, dead letters", (), ("operate",)),
    Person("nora", "Nora", "auditor", "memories; no audit yet", ("view_memory", "read_audit")),
)
MACHINES = (PLANNER, BOT)


def provision_sample(*, keys: dict[str, str], now: datetime) -> Tenant:
    """Return the sample's tenant with what was missing of it; what was there stays as it is, but for the keys."""
    tenant = Tenant.objects.filter(slug=TENANT).first() or operations.create_tenant(slug=TENANT, name="Sample", now=now)
    for person in PEOPLE:
        _have_person(tenant=tenant, username=person.username, name=person.name, password=keys[person.username])
    _have_administrator(password=keys[ADMIN])
    planner = _have_machine(tenant=tenant, username=PLANNER, name="Planner", kind=PrincipalKind.AGENT)
    bot = _have_machine(tenant=tenant, username=BOT, name="Release bot", kind=PrincipalKind.SERVICE)
    authors = [bot]
    for number in range(1, PEOPLE_BEHIND_THE_FACTS + 1):
        username = name_maintainer(number)
        authors.append(_have_person(tenant=tenant, username=username, name=f"Maintainer {number}", password=None))
    for author in authors:
        operations.join_group(tenant=tenant, principal=author, role=MAINTAINERS)
    with tenant_context(tenant.pk):
        _grant(tenant=tenant, planner=planner, bot=bot, now=now)
    lead = Principal.objects.select_related("tenant").get(tenant=tenant, username=LEAD)
    _declare(caller=describe_person(principal=lead), now=now)
    _have_token(principal=planner, secret=keys[PLANNER], actions=(*AGENT, RELAY_USER), now=now)
    _have_token(principal=bot, secret=keys[BOT], actions=AGENT, now=now)
    return tenant


def is_usable(*, secret: str, now: datetime) -> bool:
    """Tell whether a token is still taken: one that was revoked stays revoked."""
    return authenticate_token(secret=secret, now=now) is not None


def count_events(*, event_ids: Sequence[str]) -> int:
    """Return how many of these events the sample's tenant has received; others may send at the same time."""
    tenant = Tenant.objects.get(slug=TENANT)
    with tenant_context(tenant.pk, read_only=True):
        return SourceEventBody.objects.filter(tenant=tenant, event_key__in=event_ids).count()


def count_waiting() -> dict[str, int]:
    """Return how many items of the sample's queues are open, by kind."""
    tenant = Tenant.objects.get(slug=TENANT)
    with tenant_context(tenant.pk, read_only=True):
        waiting = ReviewItem.objects.filter(tenant=tenant, state=ReviewState.OPEN).values_list("kind")
        return dict(waiting.annotate(Count("id")))


def _have_person(*, tenant: Tenant, username: str, name: str, password: str | None) -> Principal:
    found = Principal.objects.filter(tenant=tenant, username=username).first()
    if found is None:
        return operations.create_principal(tenant=tenant, username=username, display_name=name, password=password)
    if password is not None and not found.check_password(password):
        found.set_password(password)
        found.save(update_fields=["password"])
    return found


def _have_administrator(*, password: str) -> None:
    found = Principal.objects.filter(username=ADMIN, is_superuser=True).first()
    if found is None:
        Principal.objects.create_superuser(ADMIN, password=password, display_name="Administrator")
    elif not found.check_password(password):
        found.set_password(password)
        found.save(update_fields=["password"])


def _have_machine(*, tenant: Tenant, username: str, name: str, kind: PrincipalKind) -> Principal:
    found = Principal.objects.filter(tenant=tenant, username=username).first()
    return found or operations.create_principal(tenant=tenant, username=username, display_name=name, kind=kind)


def _declare(*, caller: Caller, now: datetime) -> None:
    """Take over what the sample's file declares and the tenant does not have yet; what it changed stays changed."""
    wanted = read_ontology(text=(FOLDER / "ontology.json").read_text(encoding="utf-8"))
    held = read_declared(caller=caller)
    types = {entry.name for entry in held.entity_types}
    subjects = {entry.key for entry in held.subjects}
    predicates = {entry.fact_key.casefold() for entry in held.predicates}
    missing = Ontology(
        entity_types=tuple(entry for entry in wanted.entity_types if entry.name not in types),
        subjects=tuple(entry for entry in wanted.subjects if entry.key not in subjects),
        predicates=tuple(entry for entry in wanted.predicates if entry.fact_key.casefold() not in predicates),
    )
    declare_ontology(caller=caller, wanted=missing, now=now)


def _grant(*, tenant: Tenant, planner: Principal, bot: Principal, now: datetime) -> None:
    people = {person.username: person for person in Principal.objects.filter(tenant=tenant)}
    project = _have_scope(
        tenant=tenant, kind="project", key=PROJECT, name="Product lifecycles", owner=people[LEAD], now=now
    )
    operations.grant_rights(scope=project, principal=planner, rights=AGENT)
    operations.grant_rights(scope=project, principal=bot, rights=AGENT)
    for person in PEOPLE:
        principal = people[person.username]
        operations.grant_rights(scope=project, principal=principal, rights=person.rights)
        operations.grant_tenant_rights(tenant=tenant, principal=principal, rights=person.tenant_rights)
        if person.has_own_scope:
            own = _have_scope(
                tenant=tenant, kind="user", key=person.username, name=person.name, owner=principal, now=now
            )
            operations.grant_rights(scope=own, principal=principal, rights=REVIEWER)
            operations.grant_rights(scope=own, principal=planner, rights=AGENT)


def _have_scope(*, tenant: Tenant, kind: str, key: str, name: str, owner: Principal, now: datetime) -> Scope:
    found = Scope.objects.filter(tenant=tenant, kind=kind, key=key).first()
    return found or operations.create_scope(tenant=tenant, kind=kind, key=key, name=name, owner=owner, now=now)


def _have_token(*, principal: Principal, secret: str, actions: tuple[str, ...], now: datetime) -> None:
    if not ApiToken.objects.filter(secret_digest=digest_secret(secret=secret)).exists():
        operations.issue_token(principal=principal, name="sample", actions=actions, now=now, secret=secret)
