"""Predicates: what the tenant declared of its fact keys. Read only: people declare, by the `ontology` command."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memoryhub.api.v1.base import ApiView, tell
from memoryhub.api.v1.describing import CURSOR, FACT_KEY, LIMIT, describe
from memoryhub.api.v1.pages import read_key_cursor, write_cursor
from memoryhub.api.v1.problems import Code, Problem
from memoryhub.api.v1.reading import read_query
from memoryhub.api.v1.shapes_in import PageQuery
from memoryhub.api.v1.shapes_out import PredicateOut, PredicatesPage
from memoryhub.memory.predicate_queries import PredicateNotFound, PredicateRecord, find_predicate, list_predicates
from memoryhub.types.fact_keys import BadFactKey


class Predicates(ApiView):
    """List the declared keys."""

    @describe(
        name="list_predicates",
        summary="List the declared fact keys",
        text="What the tenant declared of its keys and patterns, in the order of their plain spelling.",
        parameters=(LIMIT, CURSOR),
        answers={200: PredicatesPage},
        problems=(400, 422),
    )
    def get(self, request: Request) -> Response:
        """Show one page of declared keys."""
        page = read_query(PageQuery, request.query_params)
        with self.reading() as caller:
            found = list_predicates(caller=caller, after=read_key_cursor(page.cursor), limit=page.limit + 1)
        shown = found[: page.limit]
        return tell(
            PredicatesPage(
                items=[_tell(predicate) for predicate in shown],
                next_cursor=write_cursor(shown[-1].fold) if len(found) > page.limit else None,
            )
        )


class PredicateOfKey(ApiView):
    """Show what is declared of one key."""

    @describe(
        name="read_predicate",
        summary="See what is declared of a fact key",
        text="Of the key itself in any spelling, or of the most specific pattern that it falls under.",
        parameters=(FACT_KEY,),
        answers={200: PredicateOut},
        problems=(404,),
    )
    def get(self, request: Request, fact_key: str) -> Response:
        """Show what is declared of a key."""
        del request
        with self.reading() as caller:
            try:
                found = find_predicate(caller=caller, text=fact_key)
            except (BadFactKey, PredicateNotFound):
                raise Problem(Code.NOT_FOUND) from None
        return tell(_tell(found))


def _tell(predicate: PredicateRecord) -> PredicateOut:
    return PredicateOut(
        fact_key=predicate.fact_key,
        name=predicate.name,
        cardinality=predicate.cardinality,
        value_schema=predicate.value_schema,
        normalisers=list(predicate.normalisers),
        sensitive=predicate.sensitive,
        requires_confirmation=predicate.requires_confirmation,
        authority_group=predicate.authority_group,
        yields_only_to_validation=predicate.yields_only_to_validation,
    )
