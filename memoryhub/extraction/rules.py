"""The extractor of plain rules, English and Chinese; deterministic. Pure.

Read are a lasting preference, a like or dislike, a value of a declared predicate, a correction of either, and an
outcome that a tool reports (seed 000 §5.2). "This time" and 这次 are parameters of the task at hand and propose
nothing; neither does a question, nor what somebody would do. What is only suspected or hearsay becomes a lead under a
key of its own, so that it never meets a fact. A sentence of more than 500 characters is read in pieces and every
pattern begins at one place, so that the time it takes grows with the text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from memoryhub.extraction import patterns
from memoryhub.extraction.dates import Stated, read_period
from memoryhub.extraction.interfaces import DeclaredPredicate, EventText, ExtractionContext, Proposal
from memoryhub.extraction.labels import Labels
from memoryhub.extraction.typed import NoValue, read_value, trim_value
from memoryhub.lib.hashing import sha256_hex
from memoryhub.types.entity import Mention
from memoryhub.types.enums import CandidateKind, EpistemicStatus, MemoryType, Stance

VERSION = "rules/2"
LANGUAGE = "preference.language"
LIKES = "preference.likes"
FAVOURITE = "preference.favourite"
STANDING = "preference.standing"
SUSPICION = "lead.suspicion"
HEARSAY = "lead.hearsay"
TOOL_OUTCOME = "experience.tool_outcome"
TOOL_SOURCES = frozenset({"tool_result"})
LONGEST_TOPIC = 120
LEAD_CONFIDENCE = 0.3
MOST_CLAIMS = 100
MOST_LOOKED_BACK = 20
LONGEST_EARLIER = 2000


@dataclass(frozen=True, slots=True)
class _Reading:
    """Hold what was found out about a sentence before its claim is read."""

    event: EventText
    span: tuple[int, int]
    sentence: str
    stated: Stated
    is_hedged: bool = False
    is_lasting: bool = False
    is_correction: bool = False
    conditions: dict[str, Any] = field(default_factory=dict)

    def propose(self, *, rule: str, fact_key: str, value: Any, confidence: float, **more: Any) -> Proposal:
        """Return a proposal of the speaker about themselves, unless `more` says otherwise."""
        event = self.event
        said = EpistemicStatus.EXPLICIT if event.is_first_party else EpistemicStatus.OBSERVED
        conditions = {**self.conditions, **more.pop("conditions", {})}
        return Proposal(
            kind=more.pop("kind", CandidateKind.PREFERENCE),
            memory_type=MemoryType.SEMANTIC,
            subject=more.pop("subject", event.subject),
            fact_key=fact_key,
            content=self.sentence,
            value=value,
            epistemic_status=more.pop("epistemic_status", said),
            confidence=confidence,
            span=self.span,
            conditions=conditions,
            valid_from=self.stated.valid_from,
            valid_to=self.stated.valid_to,
            corrects=self.is_correction,
            rule_digest=sha256_hex(f"{VERSION} {rule}"),
            **more,
        )


class RulesExtractor:
    """Read what people state by pattern; deterministic."""

    version = VERSION

    def extract(self, event: EventText, context: ExtractionContext) -> list[Proposal]:
        """Return a proposal for each thing that a sentence states."""
        if event.source_type in TOOL_SOURCES:
            return _read_tool(event)
        return _read_text(event, _Known(context))


def _read_text(event: EventText, known: _Known) -> list[Proposal]:
    found: list[Proposal] = []
    for start, sentence in _list_sentences(event.text):
        found.extend(_read_sentence(event, known, start, sentence, found))
        if len(found) >= MOST_CLAIMS:
            break
    return found


def may_correct(*, text: str) -> bool:
    """Tell whether the words of an event may take back what was said before, so that it is worth looking it up."""
    return any(
        patterns.CORRECTION.match(_strip_end(sentence)) is not None
        for _, sentence in _list_sentences(text[:LONGEST_EARLIER])
    )


def _list_sentences(text: str) -> Iterator[tuple[int, str]]:
    for match in patterns.SENTENCE.finditer(text):
        plain = match.group().strip()
        if plain:
            yield match.start() + match.group().index(plain[0]), plain


def _read_sentence(
    event: EventText, known: _Known, start: int, sentence: str, before: list[Proposal]
) -> list[Proposal]:
    said, sentence = sentence, sentence.translate(patterns.APOSTROPHES)
    if patterns.QUESTION.search(sentence) or patterns.ONLY_NOW.search(sentence) or patterns.UNREAL.search(sentence):
        return []
    labels = known.labels
    stated = read_period(text=sentence, at=event.occurred_at)
    reading = _Reading(
        event=event,
        span=(start, start + len(said)),
        sentence=said,
        stated=stated,
        is_hedged=patterns.HEDGE.search(sentence) is not None,
        is_lasting=patterns.LASTING.search(sentence) is not None,
    )
    core = _strip_end(_take_out(sentence, stated.spans))
    core, reading = _read_lead_in(core, reading)
    if patterns.HEARSAY.match(core):
        claims = _read_claims(core.split(" ", 3)[-1], reading, labels, in_hearsay=True)
        return [_as_lead(reading, HEARSAY)] if claims or _has_claim(core, reading, labels) else []
    claims = _read_claims(core, reading, labels)
    if not claims and reading.is_correction:
        claims = _read_correction(core, reading, known, before)
    if reading.is_hedged:
        return [_as_lead(reading, SUSPICION)] if claims or patterns.CAUSE.search(sentence) else []
    return claims


def _as_lead(reading: _Reading, fact_key: str) -> Proposal:
    """Return what is only suspected or heard: under a key of its own, weak, and never explicit."""
    topic = _cut(reading.sentence.strip(" .!。！"))
    return replace(
        reading.propose(rule=fact_key, fact_key=fact_key, value=topic, confidence=LEAD_CONFIDENCE),
        kind=CandidateKind.LEAD,
        epistemic_status=EpistemicStatus.INFERRED,
        conditions={"topic": topic},
        corrects=False,
    )


def _has_claim(core: str, reading: _Reading, labels: Labels) -> bool:
    """Tell whether the words after "he said" claim anything; a clause may begin anywhere behind it."""
    return any(
        _read_claims(core[match.end() :].lstrip(), reading, labels, in_hearsay=True)
        for match in re.finditer(
            r"(?i)\b(?:said|says|told \w+|mentioned|claims|claimed|heard|thinks)(?: that)?\b[:,]?"
            r"|说|表示|提到|告诉我|据说|听说",
            core[:120],
        )
    )


def _take_out(sentence: str, spans: tuple[tuple[int, int], ...]) -> str:
    for begin, end in reversed(spans):
        sentence = sentence[:begin] + sentence[end:]
    return re.sub(r"\s{2,}", " ", sentence).strip(" ,，")


def _strip_end(text: str) -> str:
    return text.rstrip(" .!。！,，…").lstrip(" -*•>\"'“‘—–#")


def _read_lead_in(core: str, reading: _Reading) -> tuple[str, _Reading]:
    """Take off what stands before the claim, eight pieces at most, and note what it says of the claim."""
    for _ in range(8):
        if match := patterns.CORRECTION.match(core):
            reading = replace(reading, is_correction=True)
            core = core[match.end() :].lstrip(" ,.:;!，。：；！—–-")
            if match.group().lower() in ("i meant", "i mean", "我的意思是", "我是说"):
                core = patterns.MEANT.sub("", "I meant " + core)
        elif match := patterns.FROM_NOW.match(core):
            reading = replace(reading, is_lasting=True)
            core = core[match.end() :]
        elif (match := patterns.CONDITION.match(core)) and core[match.end() :]:
            when = match["when"] or match["dang"]
            reading = replace(reading, conditions={"when": _normalise(when)})
            core = core[match.end() :]
        elif match := patterns.FILLER.match(core) or patterns.MEANT.match(core) or patterns.HEDGE_FIRST.match(core):
            core = core[match.end() :]
        else:
            break
    return core, reading


def _read_claims(core: str, reading: _Reading, labels: Labels, *, in_hearsay: bool = False) -> list[Proposal]:
    found = _read_predicates(core, reading, labels)
    if found:
        return found
    if language := _read_language(core, reading):
        return [language]
    for clause in _list_clauses(core):
        claim = _read_clause(clause, reading)
        if claim is None and in_hearsay:
            claim = _read_clause(re.sub(r"(?i)^(?:that|，|,|:|：)\s*", "", clause), reading)
        if claim is not None:
            found.append(claim)
    if not found and reading.is_lasting and not in_hearsay and (standing := _read_standing(core, reading)):
        found.append(standing)
    return found


def _list_clauses(core: str) -> list[str]:
    pieces: list[str] = []
    begin = 0
    for match in patterns.CLAUSE.finditer(core):
        pieces.append(core[begin : match.start()])
        begin = match.end()
    pieces.append(core[begin:])
    plain = (piece.strip() for piece in pieces[:40])
    return [patterns.FILLER.sub("", piece) for piece in plain if piece]


def _read_clause(clause: str, reading: _Reading) -> Proposal | None:
    if match := patterns.FAVOURITE.match(clause):
        return _propose_favourite(match, reading)
    for pattern, likes, rule in (
        (patterns.DISLIKE, False, "dislike"),
        (patterns.NOT_FOND, False, "dislike"),
        (patterns.LIKE, True, "like"),
        (patterns.FOND, True, "like"),
        (patterns.ZH_DISLIKE, False, "dislike"),
        (patterns.ZH_LIKE, True, "like"),
    ):
        if match := pattern.match(clause):
            return _propose_liking(match["what"], reading, likes=likes, rule=rule)
    match = patterns.OTHERS.match(clause) or patterns.ZH_OTHERS.match(clause)
    return None if match is None else _propose_others(match, reading)


def _propose_liking(what: str, reading: _Reading, *, likes: bool, rule: str, **more: Any) -> Proposal | None:
    conditions: dict[str, Any] = {}
    if match := patterns.TRAILING_CONDITION.search(what):
        conditions["when"] = _normalise(match["when"])
        what = what[: match.start()]
    if what.lower().startswith("not to "):
        likes, what = not likes, what[len("not to ") :]
    topic = _name_topic(what)
    if topic is None or (not likes and patterns.WANTS_TO.match(reading.sentence)):
        return None
    conditions["topic"] = topic
    confidence = 0.95 if reading.is_lasting else 0.85
    more = {"confidence": confidence, **more}
    return reading.propose(rule=rule, fact_key=LIKES, value=likes, conditions=conditions, **more)


def _propose_favourite(match: re.Match[str], reading: _Reading) -> Proposal | None:
    topic = _name_topic(match["what"] or match["what2"])
    value = trim_value(match["value"] or match["value2"])
    if topic is None or not value:
        return None
    stance = Stance.CONTRADICTS if match["not"] or match["not2"] else Stance.SUPPORTS
    return reading.propose(
        rule="favourite", fact_key=FAVOURITE, value=value, conditions={"topic": topic}, confidence=0.9, stance=stance
    )


def _propose_others(match: re.Match[str], reading: _Reading) -> Proposal | None:
    """Return what the speaker says of somebody else; a pronoun leaves open of whom."""
    name = match.groupdict().get("name")
    if name is not None and name.split()[0] in patterns.NO_NAMES:
        return None
    likes = patterns.NEGATED.search(match["verb"]) is None
    if name is None:
        return _propose_liking(
            match["what"],
            reading,
            likes=likes,
            rule="somebody",
            mention=Mention(words=match["pronoun"], is_uncertain=True),
            epistemic_status=EpistemicStatus.INFERRED,
            confidence=0.5,
        )
    return _propose_liking(
        match["what"],
        reading,
        likes=likes,
        rule="others",
        mention=Mention(words=name, entity_type="person"),
        epistemic_status=EpistemicStatus.OBSERVED,
        confidence=0.6,
    )


def _read_language(core: str, reading: _Reading) -> Proposal | None:
    match = patterns.IN_LANGUAGE.search(core)
    if match is None or not (reading.is_lasting or reading.is_correction) or patterns.SPEAK.search(core) is None:
        return None
    negated = patterns.NOT_LANGUAGE.search(core[: match.start()]) is not None
    return reading.propose(
        rule="language",
        fact_key=LANGUAGE,
        value=patterns.LANGUAGES[match["value"].lower()],
        confidence=0.95,
        stance=Stance.CONTRADICTS if negated else Stance.SUPPORTS,
    )


def _read_standing(core: str, reading: _Reading) -> Proposal | None:
    """Return what is to be done, or left, from now on."""
    led = patterns.ENDURING.search(reading.sentence) is not None
    core = patterns.AM_TO.sub("", patterns.ENDURING.sub("", core).strip(" ,，"))
    wanted = True
    if match := patterns.ALWAYS.match(core):
        wanted, core = not (match["never"] or match["bu"]), core[match.end() :]
        led = led or not core[:1].isascii() or patterns.DO.match(core) is not None
    if match := patterns.NOT_FIRST.match(core):
        wanted, core = not wanted, core[match.end() :]
    topic = None if not led or patterns.BY_OTHERS.match(core) else _name_topic(core)
    if topic is None:
        return None
    return reading.propose(
        rule="standing", fact_key=STANDING, value=wanted, conditions={"topic": topic}, confidence=0.9
    )


def _read_correction(core: str, reading: _Reading, known: _Known, before: list[Proposal]) -> list[Proposal]:
    """Return the corrected value of what the speaker stated last, in this event or in one shortly before it."""
    said = patterns.MEANT.sub("", core)
    match = patterns.IT_IS.match(said)
    words = match["value"] if match else said
    if len(words) > LONGEST_TOPIC:
        return []
    for earlier in (*reversed(before[-MOST_LOOKED_BACK:]), *known.earlier):
        try:
            value = _read_again(words, earlier, known.labels)
        except NoValue:
            continue
        corrected = reading.propose(
            rule="correction",
            fact_key=earlier.fact_key,
            value=value,
            confidence=0.9,
            kind=earlier.kind,
            subject=earlier.subject,
            mention=earlier.mention,
            conditions=earlier.conditions,
        )
        return [replace(corrected, valid_from=corrected.valid_from or earlier.valid_from)]
    return []


class _Known:
    """Hold what is known beside the text: the declared labels, and what the speaker stated in earlier events."""

    def __init__(self, context: ExtractionContext) -> None:
        self.context = context
        self.labels = Labels(context.predicates)

    @cached_property
    def earlier(self) -> tuple[Proposal, ...]:
        """What the speaker stated before this event, the last first; read once, and only when it is needed."""
        alone = _Known(replace(self.context, earlier=()))
        found: list[Proposal] = []
        for event in self.context.earlier:
            found.extend(reversed(_read_text(replace(event, text=event.text[:LONGEST_EARLIER]), alone)))
        return tuple(found[:MOST_LOOKED_BACK])


def _read_again(words: str, earlier: Proposal, labels: Labels) -> Any:
    """Return a value of the kind that was stated before.

    Raises:
        NoValue: the words hold none of that kind.
    """
    if earlier.kind is CandidateKind.LEAD or isinstance(earlier.value, bool):
        raise NoValue
    if earlier.fact_key == LANGUAGE:
        match = re.search(rf"(?i)(?<![a-z])({patterns.NAMES})(?![a-z])", words)
        if match is None:
            raise NoValue
        return patterns.LANGUAGES[match[1].lower()]
    declared = labels.declared.get(earlier.fact_key)
    if declared is None and earlier.fact_key != FAVOURITE:
        raise NoValue
    value = read_value(text=words, schema=None if declared is None else declared.value_schema)
    if type(value) is not type(earlier.value) and not (
        isinstance(value, int | float) and isinstance(earlier.value, int | float)
    ):
        raise NoValue
    return value


def _read_predicates(core: str, reading: _Reading, labels: Labels) -> list[Proposal]:
    """Return the values that a sentence states of declared predicates."""
    found = []
    for begin, end, predicate in labels.find(core):
        claim = _read_predicate(core, begin, end, predicate, reading)
        if claim is not None:
            found.append(claim)
    return found


def _read_predicate(
    core: str, begin: int, end: int, predicate: DeclaredPredicate, reading: _Reading
) -> Proposal | None:
    before, after = core[max(0, begin - patterns.LONGEST_BEFORE) : begin], core[end : end + 200]
    match = patterns.IS.match(after)
    if match is None and patterns.SET_BEFORE.search(before):
        match = patterns.TO.match(after)
    if match is None:
        return None
    parts = match.groupdict()
    words = parts.get("value") or parts.get("value2") or parts.get("value3") or ""
    is_negated = bool(parts.get("no") or parts.get("bu"))
    if _ends_with_negation := re.match(r"(?i)(?:not|no longer|不)\s*", words):
        is_negated, words = True, words[_ends_with_negation.end() :]
    named = _name_owner(before, parts.get("of") or "")
    try:
        value = read_value(text=patterns.TRAILING_CONDITION.sub("", words), schema=predicate.value_schema)
    except NoValue:
        return None
    conditions = {}
    if when := patterns.TRAILING_CONDITION.search(words):
        conditions["when"] = _normalise(when["when"])
    return reading.propose(
        rule="predicate",
        fact_key=predicate.fact_key,
        value=value,
        confidence=0.9,
        kind=CandidateKind.FACT,
        stance=Stance.CONTRADICTS if is_negated else Stance.SUPPORTS,
        conditions=conditions,
        mention=named,
        **({} if named is None else {"epistemic_status": EpistemicStatus.INFERRED}),
    )


def _name_owner(before: str, of: str) -> Mention | None:
    """Return whose value it is, where that is somebody else's; the words tell no type."""
    if of:
        return Mention(words=of.partition(" ")[2].strip())
    match = patterns.NAMED_BEFORE.search(before)
    if match is None or patterns.OURS_BEFORE.search(before):
        return None
    return Mention(words=match["name"] or match["zh"])


def _name_topic(what: str) -> str | None:
    """Return what a preference is about, so that two ways to say it are one; None where the words do not tell."""
    what = patterns.REASON.sub("", patterns.RATHER.sub("", what.strip()))
    if patterns.NO_TOPIC.match(what):
        return None
    topic = _normalise(patterns.ARTICLES.sub("", what))
    while (shorter := patterns.AFTER_TOPIC.sub("", topic)) != topic:
        topic = shorter
    return topic if len(topic) > 0 and not patterns.NO_TOPIC.match(topic) else None


def _normalise(text: str) -> str:
    return _cut(re.sub(r"\s+", " ", text.lower()).strip(" \"'“”‘’「」.,!:;。，！：；"))


def _cut(text: str) -> str:
    if len(text) <= LONGEST_TOPIC:
        return text
    kept = text[:LONGEST_TOPIC]
    return kept.rsplit(" ", 1)[0] if " " in kept[LONGEST_TOPIC // 2 :] else kept


def _read_tool(event: EventText) -> list[Proposal]:
    """Return the outcome that a tool reports: shown by its numbers, or to be validated first."""
    match = patterns.OUTCOME.search(event.text)
    if match is None:
        return []
    is_shown = patterns.RESULT.search(event.text) is not None
    words = match.group()
    return [
        Proposal(
            kind=CandidateKind.EXPERIENCE,
            memory_type=MemoryType.EPISODIC,
            subject=event.subject,
            fact_key=TOOL_OUTCOME,
            content=words,
            value=_normalise(words),
            epistemic_status=EpistemicStatus.OBSERVED,
            confidence=0.6 if is_shown else 0.3,
            span=match.span(),
            conditions={"topic": _normalise(words)},
            rule_digest=sha256_hex(f"{VERSION} tool"),
        )
    ]
