"""The tenant's ontology as a file: taken over whole or not at all, and never against what is held."""

from __future__ import annotations

import json
import random
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memoryhub.access.callers import Caller
from memoryhub.access.models import AuditEvent, EntityType, Subject, SubjectAlias, SubjectMention
from memoryhub.access.operations import grant_tenant_rights
from memoryhub.access.queries import TenantForbidden
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.memory.models import Predicate
from memoryhub.types.fact_keys import choose_pattern
from memoryhub.types.ontology import FORMAT, OntologyRefused, read_ontology
from memoryhub.usecases.declare import Declared, declare_ontology, read_declared
from tests.acts import state_fact
from tests.cast import Cast, make_cast

WHOLE: dict[str, Any] = {
    "entity_types": [{"name": "customer", "description": "who pays"}],
    "subjects": [
        {"key": "person:hans", "aliases": ["customer:4711"], "mentions": ["Hans", "汉斯"]},
        {"key": "person:anna", "mentions": ["Anna"]},
    ],
    "predicates": [
        {
            "fact_key": "invoice.payment_terms_days",
            "name": "Payment terms",
            "value_schema": {"type": "integer", "minimum": 0},
            "normalisers": ["trim", "number"],
            "authority_group": "accounting",
        },
        {"fact_key": "likes.*", "cardinality": "many"},
        {"fact_key": "*.secret", "sensitive": True},
    ],
}


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    with tenant_context(cast.tenant_id):
        grant_tenant_rights(tenant=cast.tenant, principal=cast.alice, rights=["administer_tenant"])
    return cast


def owner(cast: Cast) -> Caller:
    return cast.person(cast.alice)


def declare(cast: Cast, *, is_trial: bool = False, **parts: Any) -> Declared:
    wanted = read_ontology(text=json.dumps({"format": FORMAT, **parts}))
    return declare_ontology(caller=owner(cast), wanted=wanted, now=clock.now(), is_trial=is_trial)


def refuse(cast: Cast, **parts: Any) -> list[tuple[str, str]]:
    """Return where and why a file is refused; nothing of it may be in the tables."""
    before = dump(cast)
    with pytest.raises(OntologyRefused) as caught:
        declare(cast, **parts)
    assert dump(cast) == before
    return [(fault.place, fault.code) for fault in caught.value.faults]


def dump(cast: Cast) -> list[list[Any]]:
    with tenant_context(cast.tenant_id, read_only=True):
        return [
            list(model.objects.filter(tenant_id=cast.tenant_id).order_by("id").values())
            for model in (EntityType, Subject, SubjectAlias, SubjectMention, Predicate, AuditEvent)
        ]


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("ontology", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_a_file_comes_out_as_it_went_in(cast: Cast, tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    wanted = tmp_path / "wanted.json"
    wanted.write_text(json.dumps({"format": FORMAT, **WHOLE}), encoding="utf-8")
    by = ("--by", cast.alice.username)
    assert "added predicate likes.*" in run("import", str(wanted), *by)
    run("export", str(first), *by)
    assert "nothing to change" in run("import", str(first), *by)
    run("export", str(second), *by)
    assert first.read_bytes() == second.read_bytes()
    assert json.loads(first.read_text(encoding="utf-8"))["subjects"][1]["mentions"] == ["Hans", "汉斯"]


def test_another_tenant_takes_the_file_over_to_the_byte(cast: Cast, tmp_path: Path) -> None:
    declare(cast, **WHOLE)
    other = make_cast()
    with tenant_context(other.tenant_id):
        grant_tenant_rights(tenant=other.tenant, principal=other.alice, rights=["administer_tenant"])
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    run("export", str(one), "--by", cast.alice.username)
    run("import", str(one), "--by", other.alice.username)
    run("export", str(two), "--by", other.alice.username)
    assert one.read_bytes() == two.read_bytes()
    with tenant_context(other.tenant_id, read_only=True):
        groups = set(Predicate.objects.filter(tenant_id=other.tenant_id).values_list("authority_group", flat=True))
    assert groups == {"", f"{other.tenant.slug}/maintainers", f"{other.tenant.slug}/accounting"}


def test_an_import_done_twice_is_done_once(cast: Cast) -> None:
    assert len(declare(cast, **WHOLE).changes) == 10
    before = dump(cast)
    assert declare(cast, **WHOLE).changes == ()
    assert dump(cast) == before


def test_what_a_file_does_not_name_stays(cast: Cast) -> None:
    declare(cast, **WHOLE)
    declare(cast, predicates=[{"fact_key": "another.key"}], subjects=[{"key": "person:hans"}])
    held = read_declared(caller=owner(cast))
    assert [entry.fact_key for entry in held.predicates if "release" not in entry.fact_key] == [
        "*.secret",
        "another.key",
        "invoice.payment_terms_days",
        "likes.*",
    ]
    assert held.subjects[1].aliases == ("customer:4711",)


def test_a_trial_says_what_would_change_and_changes_nothing(cast: Cast, tmp_path: Path) -> None:
    before = dump(cast)
    assert len(declare(cast, is_trial=True, **WHOLE).changes) == 10
    file = tmp_path / "wanted.json"
    file.write_text(json.dumps({"format": FORMAT, **WHOLE}), encoding="utf-8")
    told = run("import", str(file), "--by", cast.alice.username, "--dry-run")
    assert "added mention 汉斯 of person:hans" in told
    assert "10 would be changed" in told
    assert dump(cast) == before


def test_it_takes_the_right_and_leaves_a_trace(cast: Cast, tmp_path: Path) -> None:
    wanted = read_ontology(text=json.dumps({"format": FORMAT, **WHOLE}))
    for caller in (cast.person(cast.bob), cast.caller):
        with pytest.raises(TenantForbidden):
            declare_ontology(caller=caller, wanted=wanted, now=clock.now())
        with pytest.raises(TenantForbidden):
            read_declared(caller=caller)
    with pytest.raises(CommandError, match="administer_tenant"):
        run("export", str(tmp_path / "x.json"), "--by", cast.bob.username)
    assert not (tmp_path / "x.json").exists()
    declare(cast, **WHOLE)
    with tenant_context(cast.tenant_id, read_only=True):
        [told] = AuditEvent.objects.filter(action="ontology.declared").values("principal_id", "outcome", "object_ids")
    assert told == {"principal_id": cast.alice.pk, "outcome": "changed", "object_ids": {"changes": 10}}


def test_the_command_names_every_fault_and_its_place(cast: Cast, tmp_path: Path) -> None:
    file = tmp_path / "wanted.json"
    file.write_text('{"format": "memoryhub.ontology/1",\n "predicates": [}', encoding="utf-8")
    out = StringIO()
    with pytest.raises(CommandError, match="nothing was changed"):
        call_command("ontology", "import", str(file), "--by", cast.alice.username, stderr=out)
    assert "line 2, column 17: malformed_file" in out.getvalue()
    with pytest.raises(CommandError, match="cannot be read"):
        run("import", str(tmp_path / "nowhere.json"), "--by", cast.alice.username)
    with pytest.raises(CommandError, match="no active principal"):
        run("import", str(file), "--by", "nobody")


def test_a_subject_is_never_made_another(cast: Cast) -> None:
    declare(cast, **WHOLE)
    state_fact(cast, value="x", subject="person:karl", key="any.key")
    hans = {"key": "person:hans", "aliases": ["person:anna"]}
    assert refuse(cast, subjects=[hans]) == [("/subjects/0", "alias_is_a_subject")]
    assert refuse(cast, subjects=[{**hans, "aliases": ["person:karl"]}]) == [("/subjects/0", "alias_is_a_subject")]
    anna = {"key": "person:anna", "aliases": ["customer:4711"]}
    assert refuse(cast, subjects=[anna]) == [("/subjects/0", "alias_is_taken")]
    assert refuse(cast, subjects=[{"key": "customer:4711"}]) == [("/subjects/0", "subject_is_an_alias")]
    assert refuse(cast, subjects=[{"key": "planet:mars"}]) == [("/subjects/0", "undeclared_entity_type")]


def test_an_alias_is_the_same_subject_to_every_claim(cast: Cast) -> None:
    declare(cast, **WHOLE)
    first = state_fact(cast, value="a", subject="person:hans", key="any.key").result
    second = state_fact(cast, value="a", subject="customer:4711", key="any.key").result
    assert (first.memory_id, second.action) == (second.memory_id, "ATTACH_EVIDENCE")


@pytest.mark.parametrize(
    ("entry", "place", "code"),
    [
        ({"cardinality": "many"}, "cardinality", "cardinality_has_memories"),
        ({"value_schema": {"type": "integer"}}, "value_schema", "held_values_fail"),
        ({"normalisers": ["trim"]}, "normalisers", "held_values_differ"),
        ({"fact_key": "Any.Key"}, "fact_key", "key_has_another_spelling"),
        ({"fact_key": "any.*", "cardinality": "many"}, "cardinality", "cardinality_has_memories"),
        ({"fact_key": "*.key", "value_schema": False}, "value_schema", "held_values_fail"),
    ],
)
def test_what_is_held_is_not_put_in_question(cast: Cast, entry: dict[str, Any], place: str, code: str) -> None:
    state_fact(cast, value="a ", key="any.key")
    assert refuse(cast, predicates=[{"fact_key": "any.key", **entry}]) == [(f"/predicates/0/{place}", code)]


def test_a_change_that_holds_for_what_is_held_is_taken(cast: Cast) -> None:
    state_fact(cast, value="45", key="any.key")
    declare(cast, predicates=[{"fact_key": "any.*", "value_schema": {"type": "string"}, "normalisers": ["trim"]}])
    declare(cast, predicates=[{"fact_key": "any.key", "value_schema": {"maxLength": 2}, "normalisers": ["trim"]}])
    declare(cast, predicates=[{"fact_key": "other.key", "cardinality": "many"}])
    assert state_fact(cast, value=" 45", key="Any.Key").result.action == "ATTACH_EVIDENCE"


def test_a_declared_key_has_one_spelling(cast: Cast) -> None:
    declare(cast, predicates=[{"fact_key": "any.Key"}])
    assert refuse(cast, predicates=[{"fact_key": "any.key", "sensitive": True}]) == [
        ("/predicates/0/fact_key", "declared_in_another_spelling")
    ]


def test_the_database_and_the_theory_choose_the_same_pattern(cast: Cast) -> None:
    chance = random.Random(7)  # noqa: S311  no secret
    letters = ["a", "b", "票", "x_1", "c-d"]
    patterns: set[str] = set()
    while len(patterns) < 60:
        segments = [chance.choice([*letters, "*", "*"]) for _ in range(chance.randint(1, 4))]
        if set(segments) != {"*"}:
            patterns.add(".".join(segments))
    with tenant_context(cast.tenant_id):
        for pattern in patterns:
            Predicate.objects.create(tenant=cast.tenant, fact_key=pattern)
        found = 0
        for _ in range(400):
            key = ".".join(chance.choice(letters) for _ in range(chance.randint(1, 4)))
            rows = fetch_all(sql="SELECT fact_key FROM find_predicate_v1(%s, %s)", params=[cast.tenant_id, key])
            assert (rows[0][0] if rows else None) == choose_pattern(key=key, patterns=patterns), key
            found += bool(rows)
    assert 100 < found < 400
