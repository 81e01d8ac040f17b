"""What rules over others' claims is for people: no group gives it to an agent, and nobody relays an agent."""

from __future__ import annotations

import pytest

from memoryhub.access.callers import find_actor
from memoryhub.access.operations import RIGHTS_OF_PEOPLE, grant_rights_to_group, join_group
from memoryhub.access.queries import ScopeForbidden, access_scope
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all
from tests.cast import make_cast


@pytest.mark.parametrize("right", sorted(RIGHTS_OF_PEOPLE))
def test_a_group_gives_a_right_of_people_to_people_alone(right: str) -> None:
    cast = make_cast()
    with tenant_context(cast.tenant_id):
        group = join_group(tenant=cast.tenant, principal=cast.charlie, role="everybody")
        for machine in (cast.agent, cast.bot):
            join_group(tenant=cast.tenant, principal=machine, role="everybody")
        grant_rights_to_group(scope=cast.project, group=group, rights=[right, "read_audit"])
        held = {
            principal.pk: fetch_all(
                sql="SELECT has_scope_right_v1(%s, %s, %s), list_scope_rights_v1(%s, %s)",
                params=[principal.pk, cast.project.pk, right, principal.pk, cast.project.pk],
            )[0]
            for principal in (cast.charlie, cast.agent, cast.bot)
        }
        may, rights = held[cast.charlie.pk]
        assert may
        assert rights == sorted([right, "read_audit"])
        for machine in (cast.agent, cast.bot):
            may, rights = held[machine.pk]
            assert not may
            assert right not in rights
            assert "read_audit" in rights, "the group's other rights are held"
        with pytest.raises(ScopeForbidden):
            access_scope(caller=cast.caller, right=right, kind="project", key="platform")


def test_only_people_are_relayed() -> None:
    cast = make_cast()
    with tenant_context(cast.tenant_id):
        found = find_actor(caller=cast.caller, username=cast.bob.username)
        assert found is not None
        assert found.id == str(cast.bob.pk)
        for machine in (cast.bot, cast.agent):
            assert find_actor(caller=cast.caller, username=machine.username) is None
