"""One key whatever its spelling, and one value: what is declared of them reaches every way in."""

from __future__ import annotations

from typing import Any

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.memory.models import MemoryCandidate, MemoryHead, MemoryVersion, Predicate
from memoryhub.types.enums import Cardinality
from tests.api.client import Api, a_candidate, a_memory, an_event, work
from tests.cast import Cast

TWINS = [
    "person.salary",
    "Person.Salary",
    "\u3000person.salary ",
    "ｐｅｒｓｏｎ．ｓａｌａｒｙ",
    "person\u200b.sal\u00adary",
    "𝐩𝐞𝐫𝐬𝐨𝐧.salary",
    "PERSON.SALARY ",
]


def declare(cast: Cast, fact_key: str, **more: Any) -> None:
    with tenant_context(cast.tenant_id):
        Predicate.objects.create(tenant=cast.tenant, fact_key=fact_key, **more)


def list_keys(cast: Cast) -> list[str]:
    with tenant_context(cast.tenant_id, read_only=True):
        return sorted(MemoryHead.objects.filter(tenant_id=cast.tenant_id).values_list("fact_key", flat=True))


def test_no_twin_of_a_sensitive_key_goes_round_it(api: Api, cast: Cast) -> None:
    declare(cast, "person.salary", sensitive=True)
    for twin in TWINS:
        told = api.post("memories", a_memory(fact_key=twin, value=1))
        assert (told.status, told.json["question"]) == (202, "sensitive_predicate"), twin
    with tenant_context(cast.tenant_id, read_only=True):
        assert set(MemoryCandidate.objects.values_list("fact_key", flat=True)) == {"person.salary"}
    assert list_keys(cast) == []


def test_a_twin_is_proposed_under_the_declared_key_too(api: Api, cast: Cast) -> None:
    declare(cast, "person.salary", sensitive=True)
    event = an_event()
    api.post("events", event)
    told = api.post("candidates", a_candidate(event["event_id"], fact_key="ＰＥＲＳＯＮ．ｓａｌａｒｙ"))
    work()
    found = api.get(told.json["status_url"].removeprefix("/api/v1/")).json
    assert (found["fact_key"], found["question"]) == ("person.salary", "sensitive_predicate")


def test_a_declared_spelling_is_the_one_that_is_kept(api: Api, cast: Cast) -> None:
    declare(cast, "release.releaseDate")
    first = api.post("memories", a_memory(fact_key="release.releaseDate", value="2022-08-03"))
    second = api.post("memories", a_memory(fact_key="RELEASE.RELEASEDATE", value="2022-08-03"))
    assert (first.status, second.json["action"]) == (201, "ATTACH_EVIDENCE")
    assert list_keys(cast) == ["release.releaseDate"]


def test_twins_of_an_undeclared_key_are_one_memory(api: Api, cast: Cast) -> None:
    for key in ("发票.付款_天", "发票．付款＿天", "Caf\u00e9.price", "cafe\u0301.PRICE"):
        assert api.post("memories", a_memory(fact_key=key)).status in (200, 201)
    assert list_keys(cast) == ["café.price", "发票.付款_天"]


@pytest.mark.parametrize(
    "key", ["a b", "a..b", "a/b", "a.*", "re%", "发票。付款", "inv\u043eice.terms", "x" * 200 + "ﬃ"]
)
def test_what_is_no_key_is_refused(key: str, api: Api, cast: Cast) -> None:
    told = api.post("memories", a_memory(fact_key=key))
    if len(key) > 200:
        assert told.code == "invalid_input"
        return
    assert (told.status, told.code, told.json["errors"][0]["pointer"]) == (422, "bad_fact_key", "/fact_key")
    event = an_event()
    api.post("events", event)
    told = api.post("candidates", {"candidates": [a_candidate(event["event_id"], fact_key=key)]})
    [result] = told.json["results"]
    assert result["problem"]["code"] == "bad_fact_key"
    assert result["problem"]["errors"][0]["pointer"] == "/candidates/0/fact_key"
    assert list_keys(cast) == []


def test_the_most_specific_pattern_counts(api: Api, cast: Cast) -> None:
    declare(cast, "*.*.latest", sensitive=True)
    declare(cast, "django.*.latest", value_schema={"type": "string"})
    declare(cast, "django.4.latest", value_schema={"type": "integer"})
    assert api.post("memories", a_memory(fact_key="node.5.latest")).json["question"] == "sensitive_predicate"
    assert api.post("memories", a_memory(fact_key="Django.5.latest", value=5)).code == "value_refused"
    assert api.post("memories", a_memory(fact_key="Django.5.latest", value="5.0")).status == 201
    assert api.post("memories", a_memory(fact_key="django.4.latest", value="4.1")).code == "value_refused"
    assert api.post("memories", a_memory(fact_key="django.4.latest", value=4)).status == 201
    # Another number of segments is another kind of key.
    assert api.post("memories", a_memory(fact_key="node.5.1.latest", value=5)).status == 201


def test_a_pattern_of_many_values_makes_a_memory_of_each(api: Api, cast: Cast) -> None:
    declare(cast, "likes.*", cardinality=Cardinality.MANY)
    for value in ("tea", "coffee", "tea"):
        assert api.post("memories", a_memory(fact_key="Likes.Drinks", value=value)).status in (200, 201)
    assert list_keys(cast) == ["likes.drinks", "likes.drinks"]


def test_a_normalised_value_is_the_same_claim(api: Api, cast: Cast) -> None:
    declare(
        cast,
        "invoice.payment_terms_days",
        normaliser="nfkc,trim,number",
        value_schema={"type": "integer", "minimum": 0},
    )
    words = ["We pay within 45 days.", "Payment: 45 ", "四十五天"]
    actions = []
    for value, content in zip(("45 ", 45, "４５"), words, strict=True):
        told = api.post("memories", a_memory(fact_key="invoice.payment_terms_days", value=value, content=content))
        actions.append(told.json["action"])
    assert actions == ["ADD", "ATTACH_EVIDENCE", "ATTACH_EVIDENCE"]
    refused = api.post("memories", a_memory(fact_key="invoice.payment_terms_days", value="soon"))
    assert (refused.status, refused.code) == (422, "value_refused")
    with tenant_context(cast.tenant_id, read_only=True):
        assert set(MemoryCandidate.objects.values_list("content", flat=True)) == set(words)
        assert [part.value for part in MemoryVersion.objects.filter(recorded_to=None)] == [45]


def test_a_search_finds_the_key_in_any_spelling(api: Api, cast: Cast) -> None:
    declare(cast, "release.releaseDate")
    api.post("memories", a_memory(fact_key="release.releaseDate", value="2022-08-03"))
    work()
    for spelling, found in (("release.releaseDate", 1), ("RELEASE.releasedate ", 1), ("release.other", 0), ("a b", 0)):
        told = api.post("memories/search", {"query": "Django", "filters": {"fact_key": spelling}})
        assert (told.status, len(told.json["items"])) == (200, found), spelling


def test_the_catalogue_is_read_page_by_page(api: Api, cast: Cast) -> None:
    for number in range(5):
        declare(cast, f"k{number}.*", name=f"Key {number}", normaliser="trim", sensitive=number == 3)
    seen, cursor = [], ""
    while True:
        told = api.get(f"predicates?limit=2&cursor={cursor}").json
        seen += [item["fact_key"] for item in told["items"]]
        cursor = told["next_cursor"]
        if cursor is None:
            break
    assert seen == [*(f"k{number}.*" for number in range(5)), "release.eol", "release.latest"]
    told = api.get("predicates/K3.anything")
    assert told.json["fact_key"] == "k3.*"
    assert told.json["sensitive"] is True
    assert told.json["normalisers"] == ["trim"]
    assert api.get("predicates/release.latest").json["authority_group"] == "maintainers"
    for unknown in ("nothing.declared", "a%20b", "%00"):
        assert (api.get(f"predicates/{unknown}").status, api.get(f"predicates/{unknown}").code) == (404, "not_found")
    assert api.get("predicates?cursor=x").code == "malformed_cursor"


def test_the_catalogue_is_the_tenants_own(api: Api, cast: Cast, foreigner: Api) -> None:
    declare(cast, "own.key")
    assert api.get("predicates/own.key").status == 200
    assert foreigner.get("predicates/own.key").status == 404
    assert "own.key" not in foreigner.get("predicates").raw.decode()
