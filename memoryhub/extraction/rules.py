"""The extractor of plain rules, English and Chinese; deterministic. Pure.

Read are a lasting preference, a like or dislike, a value of a declared predicate, a correction of either, and an
outcome that a tool reports (seed 000 §5.2). "This time" and 这次 are parameters of the task at hand and propose
nothing; neither does a question, nor what somebody would do. What is only suspected or hearsay becomes a lead under a
key of its own, so that it never meets a fact. A sentence of more than 500 characters is read in pieces and every
pattern begins at one place, so that the time it takes grows with the text and no faster.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from memoryhub.extraction.dates import Stated, read_period
from memoryhub.extraction.interfaces import DeclaredPredicate, EventText, ExtractionContext, Proposal
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

_APOSTROPHES = str.maketrans("’‘", "''")
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|\.(?=[a-z0-9_])){1,500}[.!?。！？]{0,3}")
_QUESTION = re.compile(
    r"(?i)[?？]|(?:吗|么|呢|是不是|对吧|对不对|是吧|好吗)[\s.。!！]*$"
    r"|,? ?(?:right|correct|isn't it|don't I|do I)[\s.!]*$"
    r"|^\s*(?:do|does|did|is|are|am|was|were|can|could|will|would|should|shall|have|has|what|which|who|whose|why|how"
    r"|when|where)(?:n't)? (?:I|you|we|he|she|it|they|the|my|your|this|that|there|if|about)\b"
)
_ONLY_NOW = re.compile(
    r"(?i)\b(?:this time|(?:just|only) (?:this )?once|for now|for today|(?:just|only) (?:for )?(?:today|now|tonight)"
    r"|today only|this once|(?:in|for|on)? ?this (?:report|trip|task|time|one|document|mail|email|meeting|draft"
    r"|ticket))\b"
    r"|这次|这一次|本次|这回|今天先|(?:就|只|仅|仅限)今天|暂时|(?:就|只|仅)这一?[次回]|仅此一次|这份|这个报告|这封|这篇"
)
_LASTING = re.compile(
    r"(?i)\b(?:from now on|from here on|by default|always|going forward|in future|in the future|every time|as a rule"
    r"|permanently|henceforth)\b|以后|今后|往后|从现在起|从今以后|默认|一直|总是|每次|永远|始终"
)
_UNREAL = re.compile(
    r"(?i)\b(?:would|wouldn't|could have|should have|had I|if (?:I|we|he|she|they|it) (?:were|was|had|did|could|liked"
    r"|wanted|preferred)|suppose|imagine|pretend|hypothetically|for example|for instance|wish)\b"
    r"|I'd\b|如果我是|假如|假设|要是|万一|比如|例如|本来想|本想"
)
_HEDGE = re.compile(
    r"(?i)\b(?:maybe|perhaps|possibly|probably|presumably|might|may be|could be|I (?:think|guess|suspect|suppose"
    r"|assume)"
    r"|not sure|unsure|seems|apparently|I'm not certain|likely)\b"
    r"|可能|也许|或许|大概|估计|恐怕|似乎|好像|应该是因为|我猜|我觉得|我怀疑|不确定|说不定|未必"
)
_HEDGE_FIRST = re.compile(
    r"(?i)^(?:maybe|perhaps|possibly|probably|presumably|apparently|I (?:think|guess|suspect|suppose|assume)(?: that)?"
    r"|可能|也许|或许|大概|估计|似乎|好像|我猜|我觉得|我怀疑|说不定)[\s,，]*"
)
_CAUSE = re.compile(
    r"(?i)\b(?:because|due to|caused by|the (?:cause|reason|culprit|fault))\b"
    r"|\b(?:maybe|perhaps|possibly|probably|I (?:suspect|guess))(?: (?:it|this|that)(?:'s| is| was))?"
    r" (?:the|a|an|our) [\w-]{1,30}(?: [\w-]{1,30}){0,2}[.!]?$"
    r"|\b(?:might|may|could) be (?:the|a problem|an issue)\b"
    r"|是.{0,30}(?:问题|原因|故障|导致|造成|引起)|因为|导致|造成"
)
_HEARSAY = re.compile(
    r"(?i)^(?:(?:he|she|they|somebody|someone|people|everyone|my \w{2,20}|the \w{2,20}"
    r"|[A-Z][\w'’-]{1,20}(?: [A-Z][\w'’-]{1,20})?)"
    r" (?:just |also |once |always )?(?:said|says|told (?:me|us|him|her|them)|tells (?:me|us)|mentioned|mentions"
    r"|claims"
    r"|claimed|thinks|believes|reckons|heard)\b|I (?:have )?(?:heard|was told|read)\b|according to\b|rumou?r has it"
    r"|reportedly|allegedly|word is)"
    r"|^(?:听说|据说|传说|有人|某人|据[^，,]{1,20}说|(?:他|她|他们|她们|[\u4e00-\u9fff]{1,4})(?:跟我)?(?:说|表示|提到|告诉我|认为|声称))"
)
_CORRECTION = re.compile(
    r"(?i)^(?:no|nope|sorry|wait|oops|correction|let me correct (?:that|myself|this)|scratch that|I misspoke"
    r"|my mistake"
    r"|I was wrong|that(?:'s| was| is) (?:wrong|not right|incorrect|not correct)|actually|rather|not quite|I meant"
    r"|I mean"
    r"|更正(?:一下)?|纠正(?:一下)?|不对|不是的|错了|说错了|我说错了|搞错了|记错了|准确地说|确切地说|我的意思是|我是说|其实)"
    r"(?=$|[\s,.:;!，。：；！—–-]|是|应该|应)"
)
_MEANT = re.compile(
    r"(?i)^(?:I (?:meant|mean|should have said)|我的意思是|我是说|我想说的是)[:：,，]?\s*(?:to say |that )?"
)
_IT_IS = re.compile(
    r"(?i)^(?:it(?:'s| is| should be| must be| was)|(?:应该|应当)?(?:是|为)|应(?:该|当)(?:是|为)?|改成"
    r"|改为)\s*(?P<value>[^,;，；]{1,100})"
)
_FILLER = re.compile(
    r"(?i)^(?:well|so|and|but|also|please|ok|okay|hey|hi|hello|honestly|oh|hmm|yes|yeah|yep|by the way|btw|note that"
    r"|remember(?: that)?|fyi|to be (?:clear|honest|fair)|in general|generally|normally|usually|as you know"
    r"|just so you know"
    r"|for the record|you know|look|listen|then|now|personally|frankly"
    r"|那么|那|嗯|对了|另外|还有|而且|但是|不过|请注意|记住|请记住|顺便说一下|总之|老实说|说实话|通常|一般来说)"
    r"(?:[\s,.:;!，。：；！—–-]+|(?<=[\u4e00-\u9fff]))"
)
_FROM_NOW = re.compile(
    r"(?i)^(?:from now on|from here on|going forward|in (?:the )?future|by default|as a rule|henceforth|every time"
    r"|(?:从)?(?:今后|以后|往后|现在起|今以后)|默认(?:情况下)?|永远|每次)[\s,:，：]*"
)
_ENDURING = re.compile(
    r"(?i)\b(?:from now on|from here on|going forward|henceforth|in (?:the )?future|by default|as a rule)\b"
    r"|^every time\b|从?(?:今后|以后|往后|现在起|今以后)|默认(?:情况下)?|永远|每次"
)
# "Always" before one of these tells somebody what to do; before anything else it is a remark.
_DO = re.compile(
    r"(?i)(?:please )?(?:add|answer|append|ask|attach|avoid|begin|book|bring|call|cc|check|choose|close|confirm|copy"
    r"|cut|deliver|do|draft|drive|email|end|enclose|file|fill|format|give|group|hide|ignore|include|inform|invite|keep|leave"
    r"|let|link|list|lock|mail|make|mark|mention|message|mute|name|notify|open|order|pack|park|pay|phone|pick|place|plan"
    r"|play|post|prefer|print|put|quote|read|record|remind|remove|reply|report|reserve|ring|round|run|save|schedule|send"
    r"|set|share|show|sign|sort|speak|start|state|stop|store|summari[sz]e|take|tell|translate|turn|update|use|wait|wake"
    r"|warn|wash|water|wear|wrap|write)\b"
)
_ALWAYS = re.compile(r"(?i)^(?:always|(?P<never>never)|总是|一直|始终|(?P<bu>从不|永不|再也不要?))\s*")
_CONDITION = re.compile(
    r"(?i)^(?P<when>(?:when(?:ever)?|while|if|during|after|before) [^,;，；]{2,80}), ?"
    r"|^(?P<dang>(?:当|每当|在)?[^，,。]{1,30}?(?:的时候|之时|期间|时))[，,]\s?"
)
_TRAILING_CONDITION = re.compile(r"(?i) (?P<when>(?:when(?:ever)?|while|if|during) .{2,80})$")
_CLAUSE = re.compile(
    r"(?i)[;；]|[,，](?!\s?(?:再|然后|最后|then|or))(?: ?(?:and|but|so|though))?|\bbut\b|但是|但(?!凡)|不过|可是|而且"
)

_OFTEN = (
    r"(?: (?:really|also|still|always|generally|usually|normally|personally|definitely|typically|now|actually|just"
    r"|do|so"
    r"|simply|absolutely|much|strongly|truly|especially|particularly|mostly|quite|rather|kind of|sort of)){0,3}"
)
_WHAT = r" (?P<what>.{1,300})$"
_LIKE = re.compile(rf"(?i)^(?:I|we){_OFTEN} (?:prefer|like|love|enjoy|favou?r|adore)(?: it)?{_WHAT}")
_FOND = re.compile(
    rf"(?i)^(?:I am|I'm|we are|we're){_OFTEN} (?:(?:a )?(?:big |huge |great )?fans? of|fond of|keen on|into){_WHAT}"
)
_DISLIKE = re.compile(
    rf"(?i)^(?:I|we){_OFTEN} (?:hate|dislike|detest|loathe|can'?t stand|cannot stand|avoid|(?:do not|don't|never"
    rf"|no longer"
    rf"|cannot|can't){_OFTEN}(?: even)? (?:like|want|prefer|enjoy|love|favou?r|need|use|drink"
    rf"|eat))(?: it)?{_WHAT}"
)
_WANTS_TO = re.compile(r"(?i).{0,200}\b(?:don't|do not|no longer|never) (?:really )?(?:want|need) to\b")
_NOT_FOND = re.compile(
    rf"(?i)^(?:I am|I'm|we are|we're) (?:not|no longer){_OFTEN} (?:(?:a )?(?:big |huge )?fans? of|fond of|keen on"
    rf"|into){_WHAT}"
)
_FAVOURITE = re.compile(
    r"(?i)^my (?:all-time )?favou?rite (?P<what>[\w -]{1,40}?) (?:is|are|will always be)(?P<not> not"
    r"|n't)? (?P<value>.{1,120})$"
    r"|^我最(?:喜欢|爱)的(?P<what2>[^是，。]{1,12})(?P<not2>不)?是(?P<value2>.{1,40})$"
)
_WANT = re.compile(rf"(?i)^(?:I|we) (?:want|need) (?:you|it|this|that)(?P<not> not)? to{_WHAT}")
_ADVERBS = (
    "(?:个人|真的|其实|现在|还是|比较|特别|最|更|一直|通常|总是|平时|"
    "向来|一般|非常|很|都|也|始终|已经|一向|从来|就){0,4}"
)
_ZH_LIKE = re.compile(
    rf"^(?:我|我们|本人){_ADVERBS}(?:喜欢|偏好|偏爱|习惯|倾向于?|爱|热爱|钟爱)(?:用|上)?(?P<what>.{{1,100}})$"
)
_ZH_DISLIKE = re.compile(
    rf"^(?:(?:我|我们|本人)?{_ADVERBS}(?:讨厌|厌恶|受不了|反感|(?:不再|再也不|不太|不怎么|不是很|从不|从来不|并不|不){_ADVERBS}喜欢)"
    rf"|(?:我|我们|本人){_ADVERBS}(?:不再|再也不|不太|从不|从来不|并不|不){_ADVERBS}(?:想要|想|爱|习惯|偏好|用|要|吃|喝))"
    r"(?P<what>.{1,100})$"
)
_PLURAL = "want|prefer|like|love|enjoy|need|hate|dislike"
_NAME = r"[A-Z][a-zà-ÿ'’-]{1,20}(?: [A-Z][a-zà-ÿ'’-]{1,20}){0,2}"
_OTHERS = re.compile(
    rf"^(?:(?P<pronoun>[Hh]e|[Ss]he|[Tt]hey)|(?P<name>{_NAME})){_OFTEN}"
    r" (?P<verb>wants|prefers|likes|loves|enjoys|needs|hates|dislikes|can'?t stand"
    rf"|(?:doesn't|does not|no longer){_OFTEN} (?:want|prefer|like|love|enjoy|need)s?"
    rf"|(?<=hey )(?:{_PLURAL}|(?:don't|do not){_OFTEN} (?:want|prefer|like|love|enjoy|need))){_WHAT}"
)
_ZH_OTHERS = re.compile(
    rf"^(?P<pronoun>他们|她们|他|她){_ADVERBS}(?P<verb>(?:不再|不太|从不|并不|不)?(?:喜欢|想要|要|希望|偏好|爱)|讨厌)(?P<what>.{{1,100}})$"
)
_NO_NAMES = frozenset(
    [
        "Everyone",
        "Everybody",
        "Nobody",
        "Somebody",
        "Someone",
        "Anyone",
        "Who",
        "It",
        "This",
        "That",
        "These",
        "Those",
        "There",
        "Here",
        "What",
        "People",
        "Customers",
        "Users",
        "The",
        "A",
        "An",
        "My",
        "Your",
        "Our",
        "His",
        "Her",
        "Their",
        "Which",
        "If",
        "When",
        "While",
        "And",
        "But",
        "So",
        "He",
        "She",
        "They",
        "We",
        "You",
        "I",
        "Maybe",
        "Perhaps",
        "Nothing",
        "Something",
        "Most",
        "Many",
        "Some",
        "All",
        "None",
        "One",
        "Both",
        "Neither",
        "Either",
    ]
)
_NEGATED = re.compile(r"(?i)n't|\bnot\b|no longer|never|hate|dislike|stand|不|讨厌")
_NO_TOPIC = re.compile(
    r"(?i)^(?:(?:it|that|this|them|those|these|you|him|her|me|us|one|so|not|more|most|to)(?: one)?$"
    r"|(?:how|what|why|where|that|the way|the idea|the fact|to (?:think|say|believe|know|hear|see)|your|you|when|if"
    r"|it (?:when|if|that|how))\b"
    r"|(?:你|这样|那样|这么|那么|它|他|她|的)|[了吧啊呢的]*$)"
)
_ARTICLES = re.compile(r"(?i)^(?:the|an?|my|our|some|any|this|these|to|having|getting|being|drinking|eating)\s+")
_AFTER_TOPIC = re.compile(
    r"(?i)(?: (?:any ?more|anymore|at all|very much|so much|a lot|again|either|best|most|better|too|these days"
    r"|nowadays"
    r"|any longer|for sure|myself|though|now|please)|了|吧|啊|呢|哦|的|呀)+$"
)
_RATHER = re.compile(
    r"(?i) (?:over|rather than|instead of|more than) .{1,200}$|，?而不是.{1,60}$|胜过.{1,60}$|多过.{1,60}$"
)
_REASON = re.compile(r"(?i)\s?[—–].*$| (?:so (?:that|I|we|you|it)|because|since (?:it|I|they)|as it) .*$")
_NOT_FIRST = re.compile(
    r"(?i)^(?:please )?(?:do not|don't|never|no|stop|avoid)\s+|^请?(?:不要再?|别再?|不用|不再|停止|禁止|避免)"
)
_BY_OTHERS = re.compile(
    r"(?i)^(?:he|she|it|they|there|this|that|these|those|mind|again|you|who|what)\b|^(?:他|她|它|这|那|再说|有)"
)
_AM_TO = re.compile(
    r"(?i)^(?:I|we) (?:want|need|(?:woul)?'?d? ?like) you to "
    r"|^(?:I'd|we'd) like you to |^我(?:希望|想|要)你|^请(?:你|您)?"
    r"|^please |^you (?:should|must) "
)

_LANGUAGES = {
    "chinese": "zh", "mandarin": "zh", "中文": "zh", "汉语": "zh", "普通话": "zh",
    "english": "en", "英文": "en", "英语": "en",
    "german": "de", "德文": "de", "德语": "de", "french": "fr", "法文": "fr", "法语": "fr",
    "japanese": "ja", "日文": "ja", "日语": "ja", "spanish": "es", "西班牙文": "es", "西班牙语": "es",
    "italian": "it", "意大利语": "it", "portuguese": "pt", "葡萄牙语": "pt",
    "russian": "ru", "俄文": "ru", "俄语": "ru",
    "korean": "ko", "韩文": "ko", "韩语": "ko", "dutch": "nl", "polish": "pl", "arabic": "ar", "阿拉伯语": "ar",
}  # fmt: skip
_NAMES = "|".join(sorted(_LANGUAGES, key=len, reverse=True))
_IN_LANGUAGE = re.compile(rf"(?i)(?:\bin |用|使用|说|讲|以)(?P<value>{_NAMES})(?![a-z])")
_SPEAK = re.compile(
    r"(?i)\b(?:answer|reply|write|respond|speak|talk|communicate|message)(?:s|ing)?\b|回答|回复|写|交流|答复|说|讲|沟通|用|使用"
)
_NOT_LANGUAGE = re.compile(r"(?i)\b(?:don't|do not|never|stop|no longer|not)\b|不要|别|不再|不用|停止")

_IS = re.compile(
    r"(?i)^(?:\s?(?P<of>(?:of|for) [^,;=:]{1,40}?))?(?:\s*(?P<no>(?:(?:is|are|was|were)(?:n't| not)(?: any ?more"
    r"| any longer)?"
    r"|(?:is|are) no longer)\b)|\s*(?:(?:is|are|was|were|has been|have been|will be|should be|must be|became|stays?"
    r"|remains?)\b"
    r"(?:(?: now| currently| always| set| changed| moved| at| still| only)(?: to)?){0,3}|\s*[=:]|\s+(?:changed"
    r"|changes|went|goes|moved|moves|rose|fell)(?: from [^,;]{1,30}?)? to\b))"
    r"\s*(?P<value>[^,;，；]{1,100})"
    r"|^(?:[^，。；,;是为]{0,6}?)(?P<bu>不(?:再)?是|不为)(?P<value3>[^，。；,;]{1,60})"
    r"|^(?:现在|目前|一直|应该|应|已经?|都)*(?:是|为|：|:|=|改成|改为|变成|变为|调到|调成|调为|设为|设成|设置为|定为|等于)了?(?P<value2>[^，。；,;]{1,60})"
)
_TO = re.compile(r"(?i)^(?: [^,;]{1,30}?)?\s+(?:to be|to|at) (?P<value>[^,;]{1,100})")
_SET_BEFORE = re.compile(
    r"(?i)\b(?:set|change|switch|adjust|turn|put|move|raise|lower|keep|make|update|leave|prefer|like|want|need|have)"
    r"(?:s|ed|ted|ing)?\b[^,;]{0,40}$|(?:把|将)[^，；]{0,20}$"
)
_NAMED_BEFORE = re.compile(r"(?:(?P<name>[\w'’-]{2,30})['’]s|(?P<zh>[\u4e00-\u9fff\w]{2,12})的)\s*(?:[\w-]{1,15} )?$")
_OURS_BEFORE = re.compile(r"(?i)(?:\b(?:my|our)|我的|我们的|我方的|本公司的)\s*(?:[\w-]{1,15} )?$")
_LONGEST_BEFORE = 60

_OUTCOME = re.compile(
    r"(?i)\b(?:all (?:the )?(?:\w+ )?(?:tests?|checks?|specs?) (?:have |are )?(?:now )?(?:pass(?:ed|ing|es)?|green"
    r"|succeed(?:ed)?|ok)"
    r"|(?:the )?(?:build|deploy(?:ment)?|migration|release|backup|import|sync|job|pipeline|command|script) (?:has "
    r"|was |is )?"
    r"(?:now )?(?:succeeded|successful|completed|complete|passed|finished|done)(?: successfully)?"
    r"|everything (?:passed|works|succeeded)"
    r"|(?:success|successfully (?:built|deployed|installed|migrated|completed)))\b"
    r"|(?:所有|全部)的?(?:\w{0,6})?(?:测试|检查|用例)(?:均|都|已)?(?:已)?(?:通过|成功)|(?:测试|检查|用例)(?:全部|均|都)(?:已)?通过"
    r"|(?:构建|部署|迁移|发布|备份|导入|同步|任务)(?:已)?(?:成功|完成)"
)
_RESULT = re.compile(
    r"(?i)\b[0-9]{1,9} (?:tests? |checks? |specs? |examples? )?(?:passed|passing|ok|succeeded)\b|\bexit(?: code"
    r"|ed with|:)? ?[:=]? ?[0-9]{1,3}\b"
    r"|\bran [0-9]{1,9} tests?\b|\b[0-9]{1,9}/[0-9]{1,9}\b|\bsha256:[0-9a-f]{12,64}|[0-9]{1,9} ?(?:个|项|条)?(?:测试"
    r"|用例)?(?:已)?通过|退出码"
)


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
        _CORRECTION.match(_strip_end(sentence)) is not None for _, sentence in _list_sentences(text[:LONGEST_EARLIER])
    )


def _list_sentences(text: str) -> Iterator[tuple[int, str]]:
    for match in _SENTENCE.finditer(text):
        plain = match.group().strip()
        if plain:
            yield match.start() + match.group().index(plain[0]), plain


def _read_sentence(
    event: EventText, known: _Known, start: int, sentence: str, before: list[Proposal]
) -> list[Proposal]:
    said, sentence = sentence, sentence.translate(_APOSTROPHES)
    if _QUESTION.search(sentence) or _ONLY_NOW.search(sentence) or _UNREAL.search(sentence):
        return []
    labels = known.labels
    stated = read_period(text=sentence, at=event.occurred_at)
    reading = _Reading(
        event=event,
        span=(start, start + len(said)),
        sentence=said,
        stated=stated,
        is_hedged=_HEDGE.search(sentence) is not None,
        is_lasting=_LASTING.search(sentence) is not None,
    )
    core = _strip_end(_take_out(sentence, stated.spans))
    core, reading = _read_lead_in(core, reading)
    if _HEARSAY.match(core):
        claims = _read_claims(core.split(" ", 3)[-1], reading, labels, in_hearsay=True)
        return [_as_lead(reading, HEARSAY)] if claims or _has_claim(core, reading, labels) else []
    claims = _read_claims(core, reading, labels)
    if not claims and reading.is_correction:
        claims = _read_correction(core, reading, known, before)
    if reading.is_hedged:
        return [_as_lead(reading, SUSPICION)] if claims or _CAUSE.search(sentence) else []
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


def _has_claim(core: str, reading: _Reading, labels: _Labels) -> bool:
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
        if match := _CORRECTION.match(core):
            reading = replace(reading, is_correction=True)
            core = core[match.end() :].lstrip(" ,.:;!，。：；！—–-")
            if match.group().lower() in ("i meant", "i mean", "我的意思是", "我是说"):
                core = _MEANT.sub("", "I meant " + core)
        elif match := _FROM_NOW.match(core):
            reading = replace(reading, is_lasting=True)
            core = core[match.end() :]
        elif (match := _CONDITION.match(core)) and core[match.end() :]:
            when = match["when"] or match["dang"]
            reading = replace(reading, conditions={"when": _normalise(when)})
            core = core[match.end() :]
        elif match := _FILLER.match(core) or _MEANT.match(core) or _HEDGE_FIRST.match(core):
            core = core[match.end() :]
        else:
            break
    return core, reading


def _read_claims(core: str, reading: _Reading, labels: _Labels, *, in_hearsay: bool = False) -> list[Proposal]:
    found = labels.read(core, reading)
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
    for match in _CLAUSE.finditer(core):
        pieces.append(core[begin : match.start()])
        begin = match.end()
    pieces.append(core[begin:])
    plain = (piece.strip() for piece in pieces[:40])
    return [_FILLER.sub("", piece) for piece in plain if piece]


def _read_clause(clause: str, reading: _Reading) -> Proposal | None:
    if match := _FAVOURITE.match(clause):
        return _propose_favourite(match, reading)
    for pattern, likes, rule in (
        (_DISLIKE, False, "dislike"),
        (_NOT_FOND, False, "dislike"),
        (_LIKE, True, "like"),
        (_FOND, True, "like"),
        (_ZH_DISLIKE, False, "dislike"),
        (_ZH_LIKE, True, "like"),
    ):
        if match := pattern.match(clause):
            return _propose_liking(match["what"], reading, likes=likes, rule=rule)
    match = _OTHERS.match(clause) or _ZH_OTHERS.match(clause)
    return None if match is None else _propose_others(match, reading)


def _propose_liking(what: str, reading: _Reading, *, likes: bool, rule: str, **more: Any) -> Proposal | None:
    conditions: dict[str, Any] = {}
    if match := _TRAILING_CONDITION.search(what):
        conditions["when"] = _normalise(match["when"])
        what = what[: match.start()]
    if what.lower().startswith("not to "):
        likes, what = not likes, what[len("not to ") :]
    topic = _name_topic(what)
    if topic is None or (not likes and _WANTS_TO.match(reading.sentence)):
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
    if name is not None and name.split()[0] in _NO_NAMES:
        return None
    likes = _NEGATED.search(match["verb"]) is None
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
    match = _IN_LANGUAGE.search(core)
    if match is None or not (reading.is_lasting or reading.is_correction) or _SPEAK.search(core) is None:
        return None
    negated = _NOT_LANGUAGE.search(core[: match.start()]) is not None
    return reading.propose(
        rule="language",
        fact_key=LANGUAGE,
        value=_LANGUAGES[match["value"].lower()],
        confidence=0.95,
        stance=Stance.CONTRADICTS if negated else Stance.SUPPORTS,
    )


def _read_standing(core: str, reading: _Reading) -> Proposal | None:
    """Return what is to be done, or left, from now on."""
    led = _ENDURING.search(reading.sentence) is not None
    core = _AM_TO.sub("", _ENDURING.sub("", core).strip(" ,，"))
    wanted = True
    if match := _ALWAYS.match(core):
        wanted, core = not (match["never"] or match["bu"]), core[match.end() :]
        led = led or not core[:1].isascii() or _DO.match(core) is not None
    if match := _NOT_FIRST.match(core):
        wanted, core = not wanted, core[match.end() :]
    topic = None if not led or _BY_OTHERS.match(core) else _name_topic(core)
    if topic is None:
        return None
    return reading.propose(
        rule="standing", fact_key=STANDING, value=wanted, conditions={"topic": topic}, confidence=0.9
    )


def _read_correction(core: str, reading: _Reading, known: _Known, before: list[Proposal]) -> list[Proposal]:
    """Return the corrected value of what the speaker stated last, in this event or in one shortly before it."""
    said = _MEANT.sub("", core)
    match = _IT_IS.match(said)
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
        self.labels = _Labels(context.predicates)

    @cached_property
    def earlier(self) -> tuple[Proposal, ...]:
        """What the speaker stated before this event, the last first; read once, and only when it is needed."""
        alone = _Known(replace(self.context, earlier=()))
        found: list[Proposal] = []
        for event in self.context.earlier:
            found.extend(reversed(_read_text(replace(event, text=event.text[:LONGEST_EARLIER]), alone)))
        return tuple(found[:MOST_LOOKED_BACK])


def _read_again(words: str, earlier: Proposal, labels: _Labels) -> Any:
    """Return a value of the kind that was stated before.

    Raises:
        NoValue: the words hold none of that kind.
    """
    if earlier.kind is CandidateKind.LEAD or isinstance(earlier.value, bool):
        raise NoValue
    if earlier.fact_key == LANGUAGE:
        match = re.search(rf"(?i)(?<![a-z])({_NAMES})(?![a-z])", words)
        if match is None:
            raise NoValue
        return _LANGUAGES[match[1].lower()]
    declared = labels.declared.get(earlier.fact_key)
    if declared is None and earlier.fact_key != FAVOURITE:
        raise NoValue
    value = read_value(text=words, schema=None if declared is None else declared.value_schema)
    if type(value) is not type(earlier.value) and not (
        isinstance(value, int | float) and isinstance(earlier.value, int | float)
    ):
        raise NoValue
    return value


class _Labels:
    """Find the labels of declared predicates in a text: by their first two characters, so that many cost little."""

    def __init__(self, predicates: tuple[DeclaredPredicate, ...]) -> None:
        self.declared = {predicate.fact_key: predicate for predicate in predicates}
        self.by_start: defaultdict[str, list[tuple[str, DeclaredPredicate]]] = defaultdict(list)
        for predicate in predicates:
            for label in predicate.labels:
                plain = label.strip().lower()
                if len(plain) > 1:
                    self.by_start[plain[:2]].append((plain, predicate))
        for known in self.by_start.values():
            known.sort(key=lambda pair: (-len(pair[0]), pair[0], pair[1].fact_key))

    def find(self, text: str) -> Iterator[tuple[int, int, DeclaredPredicate]]:
        """Yield where a label stands, the longest at each place, none inside another."""
        plain = text.lower()
        if not self.by_start or len(plain) != len(text):
            return
        place = 0
        while place < len(plain) - 1:
            width = 1
            for label, predicate in self.by_start.get(plain[place : place + 2], ()):
                if plain.startswith(label, place) and _stands_alone(plain, place, place + len(label)):
                    yield place, place + len(label), predicate
                    width = len(label)
                    break
            place += width

    def read(self, core: str, reading: _Reading) -> list[Proposal]:
        """Return the values that a sentence states of declared predicates."""
        found = []
        for begin, end, predicate in self.find(core):
            claim = _read_predicate(core, begin, end, predicate, reading)
            if claim is not None:
                found.append(claim)
        return found


def _stands_alone(text: str, begin: int, end: int) -> bool:
    before, after = text[begin - 1 : begin], text[end : end + 1]
    return not (_is_latin(text[begin]) and _is_latin(before)) and not (_is_latin(text[end - 1]) and _is_latin(after))


def _is_latin(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _read_predicate(
    core: str, begin: int, end: int, predicate: DeclaredPredicate, reading: _Reading
) -> Proposal | None:
    before, after = core[max(0, begin - _LONGEST_BEFORE) : begin], core[end : end + 200]
    match = _IS.match(after)
    if match is None and _SET_BEFORE.search(before):
        match = _TO.match(after)
    if match is None:
        return None
    parts = match.groupdict()
    words = parts.get("value") or parts.get("value2") or parts.get("value3") or ""
    is_negated = bool(parts.get("no") or parts.get("bu"))
    if _ends_with_negation := re.match(r"(?i)(?:not|no longer|不)\s*", words):
        is_negated, words = True, words[_ends_with_negation.end() :]
    named = _name_owner(before, parts.get("of") or "")
    try:
        value = read_value(text=_TRAILING_CONDITION.sub("", words), schema=predicate.value_schema)
    except NoValue:
        return None
    conditions = {}
    if when := _TRAILING_CONDITION.search(words):
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
    match = _NAMED_BEFORE.search(before)
    if match is None or _OURS_BEFORE.search(before):
        return None
    return Mention(words=match["name"] or match["zh"])


def _name_topic(what: str) -> str | None:
    """Return what a preference is about, so that two ways to say it are one; None where the words do not tell."""
    what = _REASON.sub("", _RATHER.sub("", what.strip()))
    if _NO_TOPIC.match(what):
        return None
    topic = _normalise(_ARTICLES.sub("", what))
    while (shorter := _AFTER_TOPIC.sub("", topic)) != topic:
        topic = shorter
    return topic if len(topic) > 0 and not _NO_TOPIC.match(topic) else None


def _normalise(text: str) -> str:
    return _cut(re.sub(r"\s+", " ", text.lower()).strip(" \"'“”‘’「」.,!:;。，！：；"))


def _cut(text: str) -> str:
    if len(text) <= LONGEST_TOPIC:
        return text
    kept = text[:LONGEST_TOPIC]
    return kept.rsplit(" ", 1)[0] if " " in kept[LONGEST_TOPIC // 2 :] else kept


def _read_tool(event: EventText) -> list[Proposal]:
    """Return the outcome that a tool reports: shown by its numbers, or to be validated first."""
    match = _OUTCOME.search(event.text)
    if match is None:
        return []
    is_shown = _RESULT.search(event.text) is not None
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
