"""The cast of the tests.

Alice owns, Bob and Carol are members, Charlie must see nothing, Dana and Erin do data protection, Rita reviews.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from memoryhub.access import operations
from memoryhub.access.callers import Caller, authenticate_token, describe_person
from memoryhub.access.models import Principal, PrincipalKind, Scope, Tenant
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import Predicate

PASSWORD = "correct horse battery staple"
AGENT_RIGHTS = ("ingest_event", "propose_memory", "recall_memory", "view_memory")
MEMBER_RIGHTS = ("view_memory", "recall_memory")
REVIEWER_RIGHTS = ("view_memory", "recall_memory", "review_memory", "read_audit")
EARLY = datetime(2022, 8, 3, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cast:
    """Hold one tenant of its own with a project scope, Alice's user scope, its people and its agent."""

    tenant: Tenant
    project: Scope
    personal: Scope
    alice: Principal
    bob: Principal
    carol: Principal
    charlie: Principal
    dana: Principal
    erin: Principal
    rita: Principal
    bot: Principal
    agent: Principal
    secret: str
    stranger_secret: str

    @property
    def tenant_id(self) -> str:
        """The id of the tenant."""
        return str(self.tenant.pk)

    @property
    def caller(self) -> Caller:
        """The agent, as its token authenticates it."""
        caller = authenticate_token(secret=self.secret, now=clock.now())
        assert caller is not None
        return caller

    def person(self, principal: Principal) -> Caller:
        """Return a person as a session authenticates them."""
        return describe_person(principal=Principal.objects.select_related("tenant").get(pk=principal.pk))


def make_cast() -> Cast:
    """Make a fresh tenant with everybody in it; nothing of it is shared with another test.

    `release.latest` and `release.eol` are declared; Alice, Bob, Carol, bot and agent are in their authority group.
    """
    now = clock.now()
    slug = f"t{new_id().hex[-10:]}"
    tenant = operations.create_tenant(slug=slug, name=f"Tenant {slug}", now=now)

    def person(name: str) -> Principal:
        return operations.create_principal(
            tenant=tenant, username=f"{slug}-{name}", display_name=name.capitalize(), password=PASSWORD
        )

    def machine(name: str, kind: PrincipalKind) -> Principal:
        return operations.create_principal(
            tenant=tenant, username=f"{slug}-{name}", display_name=name.capitalize(), kind=kind
        )

    alice, bob, carol, charlie, dana, erin, rita = (
        person(name) for name in ("alice", "bob", "carol", "charlie", "dana", "erin", "rita")
    )
    bot, agent = machine("bot", PrincipalKind.SERVICE), machine("agent", PrincipalKind.AGENT)
    for member in (alice, bob, carol, bot, agent):
        operations.join_group(tenant=tenant, principal=member, role="maintainers")
    stranger = machine("stranger", PrincipalKind.AGENT)
    with tenant_context(tenant.pk):
        project = operations.create_scope(
            tenant=tenant, kind="project", key="platform", name="Platform", owner=alice, now=now
        )
        personal = operations.create_scope(
            tenant=tenant, kind="user", key=alice.username, name="Alice", owner=alice, now=now
        )
        for name in ("product", "person"):
            operations.declare_entity_type(tenant=tenant, name=name)
        for fact_key in ("release.latest", "release.eol"):
            Predicate.objects.create(tenant=tenant, fact_key=fact_key, authority_group=f"{slug}/maintainers")
        operations.grant_rights(scope=project, principal=alice, rights=(*REVIEWER_RIGHTS, "administer_scope"))
        operations.grant_rights(scope=project, principal=bob, rights=MEMBER_RIGHTS)
        operations.grant_rights(scope=project, principal=rita, rights=REVIEWER_RIGHTS)
        operations.grant_rights(scope=project, principal=dana, rights=("view_memory", "request_erasure"))
        operations.grant_rights(scope=project, principal=erin, rights=("view_memory", "approve_erasure"))
        operations.grant_rights(scope=personal, principal=alice, rights=REVIEWER_RIGHTS)
        operations.grant_rights(scope=personal, principal=erin, rights=("approve_erasure",))
        for scope in (project, personal):
            operations.grant_rights(scope=scope, principal=agent, rights=AGENT_RIGHTS)
            operations.grant_rights(scope=scope, principal=bot, rights=AGENT_RIGHTS)
    secret = operations.issue_token(principal=agent, name="agent", actions=(*AGENT_RIGHTS, "relay_user"), now=now)
    stranger_secret = operations.issue_token(principal=stranger, name="stranger", actions=AGENT_RIGHTS, now=now)
    return Cast(
        tenant=tenant,
        project=project,
        personal=personal,
        alice=alice,
        bob=bob,
        carol=carol,
        charlie=charlie,
        dana=dana,
        erin=erin,
        rita=rita,
        bot=bot,
        agent=agent,
        secret=secret,
        stranger_secret=stranger_secret,
    )
