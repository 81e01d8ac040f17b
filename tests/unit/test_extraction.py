"""The plain rules: what they read, what they leave, and that no text holds them up."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from memoryhub.extraction import ExtractorMissing, active_extractors, get_extractor
from memoryhub.extraction.dates import read_period
from memoryhub.extraction.fallback import propose_transcript
from memoryhub.extraction.interfaces import DeclaredPredicate, EventText, ExtractionContext, Proposal
from memoryhub.extraction.rules import RulesExtractor, may_correct
from memoryhub.extraction.typed import NoValue, read_value
from memoryhub.types.entity import Mention
from memoryhub.types.enums import CandidateKind, EpistemicStatus, Stance

SAID_AT = datetime(2026, 5, 20, 9, tzinfo=UTC)
LONG = 1_000_000
LONGEST_SECONDS = 20.0
PREDICATES = (
    DeclaredPredicate("invoice.payment_terms_days", ("payment terms", "付款期限", "账期"), {"type": "integer"}),
    DeclaredPredicate("panel.color", ("panel color", "仪表盘颜色"), {"type": "string", "enum": ["green", "white"]}),
    DeclaredPredicate("service.alarm", ("alarm", "警报"), {"type": "boolean"}),
    DeclaredPredicate("service.owner_team", ("owning team", "负责团队"), None),
)


def read(
    text: str, *, source_type: str = "message", earlier: tuple[str, ...] = (), is_first_party: bool = True
) -> list[Proposal]:
    """Let the rules read a text that its speaker wrote, after what they wrote before, the newest first."""

    def said(words: str) -> EventText:
        return EventText(
            text=words,
            subject="person:alice",
            is_first_party=is_first_party,
            occurred_at=SAID_AT,
            source_type=source_type,
        )

    context = ExtractionContext(predicates=PREDICATES, earlier=tuple(map(said, earlier)))
    return RulesExtractor().extract(said(text), context)


def brief(proposal: Proposal) -> tuple[str, str | None, Any]:
    """Return key, topic and value of a proposal."""
    return proposal.fact_key, proposal.conditions.get("topic"), proposal.value


@pytest.mark.parametrize(
    ("text", "key", "topic", "value"),
    [
        ("From now on, please answer me in Chinese.", "preference.language", None, "zh"),
        ("By default write all of my mails in German", "preference.language", None, "de"),
        ("以后请用中文回答。", "preference.language", None, "zh"),
        ("往后都用日语写给我", "preference.language", None, "ja"),
        ("x " * 230 + "From now on answer in French.", "preference.language", None, "fr"),
        ("I always prefer short answers.", "preference.likes", "short answers", True),
        ("I always prefer short answers with links to the source.", "preference.likes", None, True),
        ("我一直喜欢简短的回答。", "preference.likes", "简短的回答", True),
        ("I prefer trains over planes.", "preference.likes", "trains", True),
        ("I'm a big fan of jazz", "preference.likes", "jazz", True),
        ("From now on use metric units.", "preference.standing", "use metric units", True),
        ("Always attach the invoice", "preference.standing", "attach the invoice", True),
        ("今后默认附上发票", "preference.standing", "附上发票", True),
        ("My favourite colour is green.", "preference.favourite", "colour", "green"),
        ("我最喜欢的颜色是绿色", "preference.favourite", "颜色", "绿色"),
    ],
)
def test_a_lasting_preference_is_read(text: str, key: str, topic: str | None, value: Any) -> None:
    [proposal] = read(text)
    assert (proposal.fact_key, proposal.value, proposal.kind) == (key, value, CandidateKind.PREFERENCE)
    assert topic is None or proposal.conditions == {"topic": topic}
    assert (proposal.epistemic_status, proposal.stance) == (EpistemicStatus.EXPLICIT, Stance.SUPPORTS)
    start, end = proposal.span
    assert text[start:end] == proposal.content
    assert proposal.subject == "person:alice"
    assert len(proposal.rule_digest) == 64


@pytest.mark.parametrize(
    ("before", "after", "topic"),
    [
        ("I like tea.", "I don't like tea any more.", "tea"),
        ("I really love loud music", "I can't stand loud music", "loud music"),
        ("I'm into early meetings", "I'm no longer into early meetings", "early meetings"),
        ("我喜欢茶", "我不喜欢茶", "茶"),
        ("我习惯喝咖啡", "我不再习惯喝咖啡了", "喝咖啡"),
        ("我爱吃辣", "我再也不爱吃辣了", "吃辣"),
        ("Always call me before nine", "From now on, never call me before nine.", "call me before nine"),
        ("以后给我打电话", "以后不要给我打电话", "给我打电话"),
    ],
)
def test_negation_is_another_claim_on_the_same_memory(before: str, after: str, topic: str) -> None:
    [held] = read(before)
    [said] = read(after)
    assert brief(held) == (said.fact_key, topic, True)
    assert brief(said) == (held.fact_key, topic, False)
    assert held.conditions == said.conditions


def test_negation_of_a_language_speaks_against_it_and_brings_no_other() -> None:
    for text in ("From now on, don't answer in English.", "以后别用英文回答我"):
        [proposal] = read(text)
        assert (proposal.fact_key, proposal.value, proposal.stance) == (
            "preference.language",
            "en",
            Stance.CONTRADICTS,
        )


@pytest.mark.parametrize(
    "text",
    [
        "That plan is not bad.",
        "这个方案不错。",
        "我觉得还不错",
        "It's not that I don't like tea.",
        "我不是不喜欢茶",
        "I don't like tea, right?",
        "Don't I like tea?",
        "Do I like tea",
        "我喜欢茶吗",
        "我是不是不喜欢茶",
        "你知道我不喜欢茶，对吧",
        "I like it.",
        "I like that you called.",
        "I love how this turned out",
        "我喜欢它",
        "I would like a coffee",
        "I'd prefer the window seat",
        "If I were rich I would love yachts.",
        "要是我喜欢茶就好了",
        "For example, I always prefer tea",
        "Never mind.",
        "The answer is in Chinese.",
        "",
    ],
)
def test_what_states_nothing_proposes_nothing(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "This time answer in Chinese, always.",
        "这次用英文，以后再说",
        "Write this report in English please.",
        "这份材料用英文写",
        "I prefer tea just for today.",
        "For now I prefer tea.",
        "我只今天喜欢茶",
        "Set the panel color to green just this once.",
    ],
)
def test_what_holds_only_this_time_is_a_parameter_of_the_task(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("payment terms are 45 days", "invoice.payment_terms_days", 45),
        ("Our payment terms: forty-five days", "invoice.payment_terms_days", 45),
        ("我们的付款期限是四十五天", "invoice.payment_terms_days", 45),
        ("账期改为60天", "invoice.payment_terms_days", 60),
        ("Set the panel color to green.", "panel.color", "green"),
        ("The panel color was changed to white", "panel.color", "white"),
        ("把仪表盘颜色调成 white", "panel.color", "white"),
        ("The alarm is off", "service.alarm", False),
        ("警报是开启", "service.alarm", True),
        ("The owning team is platform.", "service.owner_team", "platform"),
        ("负责团队是平台组", "service.owner_team", "平台组"),
    ],
)
def test_a_value_of_a_declared_predicate_is_read_as_it_is_declared(text: str, key: str, value: Any) -> None:
    [proposal] = read(text)
    assert (proposal.fact_key, proposal.value, proposal.kind) == (key, value, CandidateKind.FACT)
    assert proposal.epistemic_status is EpistemicStatus.EXPLICIT
    assert proposal.mention is None


@pytest.mark.parametrize(
    "text",
    [
        "The payment terms are strict.",
        "payment terms are 30 or 45 days",
        "The panel color is purple.",
        "We talked about payment terms for 45 minutes",
        "prepayment terms are 45 days",
        "The alarming is off",
    ],
)
def test_a_value_that_does_not_fit_is_none(text: str) -> None:
    assert read(text) == []


def test_a_negated_value_speaks_against_it() -> None:
    for text in ("The payment terms are not 30 days.", "付款期限不是30天"):
        [proposal] = read(text)
        assert (proposal.value, proposal.stance) == (30, Stance.CONTRADICTS)


def test_somebody_elses_value_leaves_the_subject_to_a_person() -> None:
    for text, name in (
        ("Hans's payment terms are 30 days", "Hans"),
        ("payment terms of Hans are 30 days", "Hans"),
        ("汉斯的付款期限是30天", "汉斯"),
    ):
        [proposal] = read(text)
        assert (proposal.value, proposal.mention) == (30, Mention(words=name))
        assert proposal.epistemic_status is EpistemicStatus.INFERRED


@pytest.mark.parametrize(
    ("text", "earlier", "key", "value"),
    [
        ("No, I meant 45 days.", "payment terms are 30 days", "invoice.payment_terms_days", 45),
        ("Actually, it is 45.", "payment terms are 30 days", "invoice.payment_terms_days", 45),
        ("不对，应该是45天", "付款期限是30天", "invoice.payment_terms_days", 45),
        ("更正：付款期限应该是四十五天", "", "invoice.payment_terms_days", 45),
        ("Correction: payment terms are 45 days", "", "invoice.payment_terms_days", 45),
        ("Sorry, I meant white", "Set the panel color to green", "panel.color", "white"),
        ("No, I meant German.", "From now on answer in French.", "preference.language", "de"),
    ],
)
def test_a_correction_names_what_it_corrects_or_takes_it_from_before(
    text: str, earlier: str, key: str, value: Any
) -> None:
    [proposal] = read(text, earlier=(earlier,))
    assert (proposal.fact_key, proposal.value, proposal.corrects) == (key, value, True)
    assert may_correct(text=text)


def test_a_correction_within_one_event_is_about_what_was_said_last() -> None:
    said, corrected = read("Payment terms are 30 days. No, I meant 45 days.")
    assert (said.value, said.corrects) == (30, False)
    assert (corrected.fact_key, corrected.value, corrected.corrects) == (said.fact_key, 45, True)


def test_a_correction_holds_from_when_the_corrected_statement_did() -> None:
    [corrected] = read("No, I meant 45 days.", earlier=("payment terms are 30 days since March 2024",))
    assert corrected.valid_from == datetime(2024, 3, 1, tzinfo=UTC)
    [restated] = read("Actually, payment terms are 45 days since April 2024")
    assert (restated.valid_from, restated.corrects) == (datetime(2024, 4, 1, tzinfo=UTC), True)


@pytest.mark.parametrize(
    ("text", "earlier"),
    [
        ("No, I meant 45 days.", "hello"),
        ("No, that is fine", "payment terms are 30 days"),
        ("No, I meant white", "payment terms are 30 days"),
        ("The meeting takes 45 minutes", "payment terms are 30 days"),
        ("No, I meant 45.", "I like tea"),
    ],
)
def test_a_correction_of_nothing_known_is_none(text: str, earlier: str) -> None:
    assert read(text, earlier=(earlier,)) == []


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Maybe it is the load balancer.", "lead.suspicion"),
        ("可能是缓存节点的问题", "lead.suspicion"),
        ("I think the payment terms are 45 days", "lead.suspicion"),
        ("也许我喜欢茶", "lead.suspicion"),
        ("He said he likes tea.", "lead.hearsay"),
        ("My boss told me that payment terms are 30 days", "lead.hearsay"),
        ("他说付款期限是30天", "lead.hearsay"),
        ("听说账期是30天", "lead.hearsay"),
    ],
)
def test_a_guess_or_hearsay_is_a_weak_lead_apart_from_facts(text: str, key: str) -> None:
    [proposal] = read(text)
    assert (proposal.kind, proposal.fact_key) == (CandidateKind.LEAD, key)
    assert proposal.epistemic_status is EpistemicStatus.INFERRED
    assert proposal.confidence <= 0.3
    assert set(proposal.conditions) == {"topic"}


def test_a_reference_that_nothing_resolves_has_no_clear_subject() -> None:
    for text, words in (("He wants it warmer", "He"), ("they prefer the aisle", "they"), ("她不喜欢太亮", "她")):
        [proposal] = read(text)
        assert proposal.mention == Mention(words=words, is_uncertain=True)
        assert proposal.epistemic_status is EpistemicStatus.INFERRED
    [named] = read("Hans prefers window seats.")
    assert named.mention == Mention(words="Hans", entity_type="person")
    assert named.epistemic_status is EpistemicStatus.OBSERVED
    assert read("Everyone likes pizza") == []


def test_when_something_holds_is_part_of_it() -> None:
    first, second = (
        read("When driving at night, I prefer white light.")[0],
        read("I prefer white light when driving at night.")[0],
    )
    assert first.conditions == second.conditions == {"when": "when driving at night", "topic": "white light"}
    [chinese] = read("开夜车的时候，我喜欢白光")
    assert chinese.conditions == {"when": "开夜车的时候", "topic": "白光"}


def test_two_statements_of_a_sentence_are_two() -> None:
    assert [brief(one) for one in read("I can't stand loud music, but I love jazz.")] == [
        ("preference.likes", "loud music", False),
        ("preference.likes", "jazz", True),
    ]


@pytest.mark.parametrize(
    ("text", "needs_validation"),
    [
        ("All tests passed.", True),
        ("The build succeeded", True),
        ("全部测试均已通过", True),
        ("部署已完成", True),
        ("All tests passed: 312 passed in 4.2 s", False),
        ("Deployment complete, exit code 0", False),
    ],
)
def test_an_outcome_without_a_result_weighs_little(text: str, needs_validation: bool) -> None:
    [proposal] = read(text, source_type="tool_result", is_first_party=False)
    assert (proposal.kind, proposal.confidence < 0.5) == (CandidateKind.EXPERIENCE, needs_validation)
    assert proposal.epistemic_status is EpistemicStatus.OBSERVED
    start, end = proposal.span
    assert text[start:end] == proposal.content


def test_a_tool_states_no_preferences() -> None:
    assert read("I always prefer short answers. Payment terms are 45 days.", source_type="tool_result") == []


def test_nothing_a_third_party_says_is_explicit() -> None:
    for text in ("I always prefer short answers.", "payment terms are 45 days", "以后请用中文回答"):
        [proposal] = read(text, is_first_party=False)
        assert proposal.epistemic_status is EpistemicStatus.OBSERVED


def day(year: int, month: int, number: int) -> datetime:
    """Return the beginning of a day."""
    return datetime(year, month, number, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("since March 2024", day(2024, 3, 1), None),
        ("since March", day(2026, 3, 1), None),
        ("since August", day(2025, 8, 1), None),
        ("from 1 June", day(2026, 6, 1), None),
        ("from June 1st, 2027", day(2027, 6, 1), None),
        ("as of 2024-03-15", day(2024, 3, 15), None),
        ("starting tomorrow", day(2026, 5, 21), None),
        ("from next month on", day(2026, 6, 1), None),
        ("until 1 July", None, day(2026, 7, 1)),
        ("from 1 June until 1 July", day(2026, 6, 1), day(2026, 7, 1)),
        ("从2024年3月起", day(2024, 3, 1), None),
        ("从3月起", day(2026, 3, 1), None),
        ("自6月1日开始", day(2026, 6, 1), None),
        ("从下个月起", day(2026, 6, 1), None),
        ("到7月1日为止", None, day(2026, 7, 1)),
        ("从去年起", day(2025, 1, 1), None),
        ("from November", None, None),
        ("since 31 February", None, None),
        ("from now on", None, None),
        ("from Hans", None, None),
        ("since I came", None, None),
        ("from 1 July until 1 June", None, None),
        ("3月的报告", None, None),
    ],
)
def test_a_time_phrase_is_read_where_it_is_clear(text: str, start: datetime | None, end: datetime | None) -> None:
    stated = read_period(text=f"x {text} y", at=SAID_AT)
    assert (stated.valid_from, stated.valid_to) == (start, end)


def test_a_stated_time_is_the_time_of_the_claim_and_no_part_of_its_value() -> None:
    [proposal] = read("Our payment terms are 45 days since March 2024.")
    assert (proposal.value, proposal.valid_from) == (45, day(2024, 3, 1))
    [chinese] = read("从3月起付款期限是45天")
    assert (chinese.value, chinese.valid_from) == (45, day(2026, 3, 1))
    [unstated] = read("payment terms are 45 days")
    assert unstated.valid_from is None


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("1,200 EUR", {"type": "integer"}, 1200),
        ("2.5", {"type": "number"}, 2.5),
        ("三百二十", {"type": "integer"}, 320),
        ("十二天", {"type": "integer"}, 12),
        ("一万二千", {"type": "integer"}, 12000),
        ("twenty-one", {"type": "integer"}, 21),
        ("light green, please", {"enum": ["green", "light_green"]}, "light_green"),
        ("enabled now", {"type": "boolean"}, True),
        ("“platform”.", {"type": "string"}, "platform"),
        ("45", None, 45),
        ("45 days", None, "45 days"),
    ],
)
def test_values_are_read_as_people_write_them(text: str, schema: dict[str, Any] | None, value: Any) -> None:
    assert read_value(text=text, schema=schema) == value


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("2.5", {"type": "integer"}),
        ("30 to 45", {"type": "integer"}),
        ("many", {"type": "number"}),
        ("maybe", {"type": "boolean"}),
        ("evergreen", {"enum": ["green"]}),
        ("45", {"type": "object"}),
        ("  .", None),
    ],
)
def test_what_is_no_value_is_refused(text: str, schema: dict[str, Any] | None) -> None:
    with pytest.raises(NoValue):
        read_value(text=text, schema=schema)


def test_jobs_of_an_earlier_version_find_their_extractor() -> None:
    assert active_extractors(source_type="message") == ("rules/2",)
    assert active_extractors(source_type="tool_result") == ("rules/2",)
    assert active_extractors(source_type="document") == ()
    said = EventText(
        text="I always prefer short answers.", subject="person:alice", is_first_party=True, occurred_at=SAID_AT
    )
    [first] = get_extractor(version="rules/1").extract(said, ExtractionContext())
    assert (first.fact_key, first.value) == ("preference.general", "short answers")
    with pytest.raises(ExtractorMissing):
        get_extractor(version="rules/0")


def test_the_transcript_of_a_tool_is_a_weak_lead() -> None:
    said = EventText(text="w" * 3000, subject="person:alice", is_first_party=True, occurred_at=SAID_AT)
    proposal = propose_transcript(event=said, key="1")
    assert (proposal.kind, proposal.confidence, proposal.span) == (CandidateKind.LEAD, 0.2, (0, 2000))


HOSTILE = (
    "always answer ", "always answer in", "默认用", "以后使用", "我一直喜欢", "I always prefer ", "a.", "a", "。",
    "payment terms ", "payment terms are ", "付款期限是", "no, I meant ", "no, I meant x. ", "When a, ", "so, so ",
    "from now on ", "I like a, but ", "He said ", "since March ", "from 1 ", "My favourite a ", "I really ", "我真的",
    "是是", "Hans's payment terms of ", "if I ", "从3月", "1,1", " ", "\n", "I don't really like really ", "maybe ",
)  # fmt: skip


def spend(text: str) -> float:
    """Return the seconds that both ways to read a text take."""
    earlier = ("payment terms are 30 days. " * 70,) * 5
    began = time.thread_time()
    read(text, earlier=earlier)
    read(text, source_type="tool_result")
    return time.thread_time() - began


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_takes_time_in_proportion_to_its_length(piece: str, at_scale: Callable[[int, int], int]) -> None:
    length = at_scale(60_000, LONG)
    text = piece * (length // len(piece) + 1)
    short, long = spend(text[: length // 10]), spend(text)
    assert long < LONGEST_SECONDS * length / LONG + 0.5
    assert long < 25 * short + 0.5, "ten times the text took more than ten times as long"


def test_a_megabyte_of_everything_hostile_is_read() -> None:
    share = LONG // len(HOSTILE)
    assert spend("".join((piece * (share // len(piece) + 1))[:share] for piece in HOSTILE)) < LONGEST_SECONDS


def test_an_extractor_gives_the_same_for_the_same() -> None:
    text = (
        "I like tea. No, I meant coffee. 以后请用中文回答。Maybe it is the disk. payment terms are 45 days since March."
    )
    assert read(text) == read(text) != []
    assert read(text, is_first_party=False) != read(text)
