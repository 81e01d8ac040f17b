"""The patterns of the plain rules, English and Chinese. Pure.

Those that end in `.match` begin at one place; those that are searched for have no part that could be read in many ways.
"""

from __future__ import annotations

import re

APOSTROPHES = str.maketrans("’‘", "''")
SENTENCE = re.compile(r"(?:[^.!?。！？\n]|\.(?=[a-z0-9_])){1,500}[.!?。！？]{0,3}")
QUESTION = re.compile(
    r"(?i)[?？]|(?:吗|么|呢|是不是|对吧|对不对|是吧|好吗)[\s.。!！]*$"
    r"|,? ?(?:right|correct|isn't it|don't I|do I)[\s.!]*$"
    r"|^\s*(?:do|does|did|is|are|am|was|were|can|could|will|would|should|shall|have|has|what|which|who|whose|why|how"
    r"|when|where)(?:n't)? (?:I|you|we|he|she|it|they|the|my|your|this|that|there|if|about)\b"
)
ONLY_NOW = re.compile(
    r"(?i)\b(?:this time|(?:just|only) (?:this )?once|for now|for today|(?:just|only) (?:for )?(?:today|now|tonight)"
    r"|today only|this once|(?:in|for|on)? ?this (?:report|trip|task|time|one|document|mail|email|meeting|draft"
    r"|ticket))\b"
    r"|这次|这一次|本次|这回|今天先|(?:就|只|仅|仅限)今天|暂时|(?:就|只|仅)这一?[次回]|仅此一次|这份|这个报告|这封|这篇"
)
LASTING = re.compile(
    r"(?i)\b(?:from now on|from here on|by default|always|going forward|in future|in the future|every time|as a rule"
    r"|permanently|henceforth)\b|以后|今后|往后|从现在起|从今以后|默认|一直|总是|每次|永远|始终"
)
UNREAL = re.compile(
    r"(?i)\b(?:would|wouldn't|could have|should have|had I|if (?:I|we|he|she|they|it) (?:were|was|had|did|could|liked"
    r"|wanted|preferred)|suppose|imagine|pretend|hypothetically|for example|for instance|wish)\b"
    r"|I'd\b|如果我是|假如|假设|要是|万一|比如|例如|本来想|本想"
)
HEDGE = re.compile(
    r"(?i)\b(?:maybe|perhaps|possibly|probably|presumably|might|may be|could be|I (?:think|guess|suspect|suppose"
    r"|assume)"
    r"|not sure|unsure|seems|apparently|I'm not certain|likely)\b"
    r"|可能|也许|或许|大概|估计|恐怕|似乎|好像|应该是因为|我猜|我觉得|我怀疑|不确定|说不定|未必"
)
HEDGE_FIRST = re.compile(
    r"(?i)^(?:maybe|perhaps|possibly|probably|presumably|apparently|I (?:think|guess|suspect|suppose|assume)(?: that)?"
    r"|可能|也许|或许|大概|估计|似乎|好像|我猜|我觉得|我怀疑|说不定)[\s,，]*"
)
CAUSE = re.compile(
    r"(?i)\b(?:because|due to|caused by|the (?:cause|reason|culprit|fault))\b"
    r"|\b(?:maybe|perhaps|possibly|probably|I (?:suspect|guess))(?: (?:it|this|that)(?:'s| is| was))?"
    r" (?:the|a|an|our) [\w-]{1,30}(?: [\w-]{1,30}){0,2}[.!]?$"
    r"|\b(?:might|may|could) be (?:the|a problem|an issue)\b"
    r"|是.{0,30}(?:问题|原因|故障|导致|造成|引起)|因为|导致|造成"
)
HEARSAY = re.compile(
    r"(?i)^(?:(?:he|she|they|somebody|someone|people|everyone|my \w{2,20}|the \w{2,20}"
    r"|[A-Z][\w'’-]{1,20}(?: [A-Z][\w'’-]{1,20})?)"
    r" (?:just |also |once |always )?(?:said|says|told (?:me|us|him|her|them)|tells (?:me|us)|mentioned|mentions"
    r"|claims"
    r"|claimed|thinks|believes|reckons|heard)\b|I (?:have )?(?:heard|was told|read)\b|according to\b|rumou?r has it"
    r"|reportedly|allegedly|word is)"
    r"|^(?:听说|据说|传说|有人|某人|据[^，,]{1,20}说|(?:他|她|他们|她们|[\u4e00-\u9fff]{1,4})(?:跟我)?(?:说|表示|提到|告诉我|认为|声称))"
)
CORRECTION = re.compile(
    r"(?i)^(?:no|nope|sorry|wait|oops|correction|let me correct (?:that|myself|this)|scratch that|I misspoke"
    r"|my mistake"
    r"|I was wrong|that(?:'s| was| is) (?:wrong|not right|incorrect|not correct)|actually|rather|not quite|I meant"
    r"|I mean"
    r"|更正(?:一下)?|纠正(?:一下)?|不对|不是的|错了|说错了|我说错了|搞错了|记错了|准确地说|确切地说|我的意思是|我是说|其实)"
    r"(?=$|[\s,.:;!，。：；！—–-]|是|应该|应)"
)
MEANT = re.compile(
    r"(?i)^(?:I (?:meant|mean|should have said)|我的意思是|我是说|我想说的是)[:：,，]?\s*(?:to say |that )?"
)
IT_IS = re.compile(
    r"(?i)^(?:it(?:'s| is| should be| must be| was)|(?:应该|应当)?(?:是|为)|应(?:该|当)(?:是|为)?|改成"
    r"|改为)\s*(?P<value>[^,;，；]{1,100})"
)
FILLER = re.compile(
    r"(?i)^(?:well|so|and|but|also|please|ok|okay|hey|hi|hello|honestly|oh|hmm|yes|yeah|yep|by the way|btw|note that"
    r"|remember(?: that)?|fyi|to be (?:clear|honest|fair)|in general|generally|normally|usually|as you know"
    r"|just so you know"
    r"|for the record|you know|look|listen|then|now|personally|frankly"
    r"|那么|那|嗯|对了|另外|还有|而且|但是|不过|请注意|记住|请记住|顺便说一下|总之|老实说|说实话|通常|一般来说)"
    r"(?:[\s,.:;!，。：；！—–-]+|(?<=[\u4e00-\u9fff]))"
)
FROM_NOW = re.compile(
    r"(?i)^(?:from now on|from here on|going forward|in (?:the )?future|by default|as a rule|henceforth|every time"
    r"|(?:从)?(?:今后|以后|往后|现在起|今以后)|默认(?:情况下)?|永远|每次)[\s,:，：]*"
)
ENDURING = re.compile(
    r"(?i)\b(?:from now on|from here on|going forward|henceforth|in (?:the )?future|by default|as a rule)\b"
    r"|^every time\b|从?(?:今后|以后|往后|现在起|今以后)|默认(?:情况下)?|永远|每次"
)
# "Always" before one of these tells somebody what to do; before anything else it is a remark.
DO = re.compile(
    r"(?i)(?:please )?(?:add|answer|append|ask|attach|avoid|begin|book|bring|call|cc|check|choose|close|confirm|copy"
    r"|cut|deliver|do|draft|drive|email|end|enclose|file|fill|format|give|group|hide|ignore|include|inform|invite|keep|leave"
    r"|let|link|list|lock|mail|make|mark|mention|message|mute|name|notify|open|order|pack|park|pay|phone|pick|place|plan"
    r"|play|post|prefer|print|put|quote|read|record|remind|remove|reply|report|reserve|ring|round|run|save|schedule|send"
    r"|set|share|show|sign|sort|speak|start|state|stop|store|summari[sz]e|take|tell|translate|turn|update|use|wait|wake"
    r"|warn|wash|water|wear|wrap|write)\b"
)
ALWAYS = re.compile(r"(?i)^(?:always|(?P<never>never)|总是|一直|始终|(?P<bu>从不|永不|再也不要?))\s*")
CONDITION = re.compile(
    r"(?i)^(?P<when>(?:when(?:ever)?|while|if|during|after|before) [^,;，；]{2,80}), ?"
    r"|^(?P<dang>(?:当|每当|在)?[^，,。]{1,30}?(?:的时候|之时|期间|时))[，,]\s?"
)
TRAILING_CONDITION = re.compile(r"(?i) (?P<when>(?:when(?:ever)?|while|if|during) .{2,80})$")
CLAUSE = re.compile(
    r"(?i)[;；]|[,，](?!\s?(?:再|然后|最后|then|or))(?: ?(?:and|but|so|though))?|\bbut\b|但是|但(?!凡)|不过|可是|而且"
)

OFTEN = (
    r"(?: (?:really|also|still|always|generally|usually|normally|personally|definitely|typically|now|actually|just"
    r"|do|so"
    r"|simply|absolutely|much|strongly|truly|especially|particularly|mostly|quite|rather|kind of|sort of)){0,3}"
)
WHAT = r" (?P<what>.{1,300})$"
LIKE = re.compile(rf"(?i)^(?:I|we){OFTEN} (?:prefer|like|love|enjoy|favou?r|adore)(?: it)?{WHAT}")
FOND = re.compile(
    rf"(?i)^(?:I am|I'm|we are|we're){OFTEN} (?:(?:a )?(?:big |huge |great )?fans? of|fond of|keen on|into){WHAT}"
)
DISLIKE = re.compile(
    rf"(?i)^(?:I|we){OFTEN} (?:hate|dislike|detest|loathe|can'?t stand|cannot stand|avoid|(?:do not|don't|never"
    rf"|no longer"
    rf"|cannot|can't){OFTEN}(?: even)? (?:like|want|prefer|enjoy|love|favou?r|need|use|drink"
    rf"|eat))(?: it)?{WHAT}"
)
WANTS_TO = re.compile(r"(?i).{0,200}\b(?:don't|do not|no longer|never) (?:really )?(?:want|need) to\b")
NOT_FOND = re.compile(
    rf"(?i)^(?:I am|I'm|we are|we're) (?:not|no longer){OFTEN} (?:(?:a )?(?:big |huge )?fans? of|fond of|keen on"
    rf"|into){WHAT}"
)
FAVOURITE = re.compile(
    r"(?i)^my (?:all-time )?favou?rite (?P<what>[\w -]{1,40}?) (?:is|are|will always be)(?P<not> not"
    r"|n't)? (?P<value>.{1,120})$"
    r"|^我最(?:喜欢|爱)的(?P<what2>[^是，。]{1,12})(?P<not2>不)?是(?P<value2>.{1,40})$"
)
ADVERBS = (
    "(?:个人|真的|其实|现在|还是|比较|特别|最|更|一直|通常|总是|平时|"
    "向来|一般|非常|很|都|也|始终|已经|一向|从来|就){0,4}"
)
ZH_LIKE = re.compile(
    rf"^(?:我|我们|本人){ADVERBS}(?:喜欢|偏好|偏爱|习惯|倾向于?|爱|热爱|钟爱)(?:用|上)?(?P<what>.{{1,100}})$"
)
ZH_DISLIKE = re.compile(
    rf"^(?:(?:我|我们|本人)?{ADVERBS}(?:讨厌|厌恶|受不了|反感|(?:不再|再也不|不太|不怎么|不是很|从不|从来不|并不|不){ADVERBS}喜欢)"
    rf"|(?:我|我们|本人){ADVERBS}(?:不再|再也不|不太|从不|从来不|并不|不){ADVERBS}(?:想要|想|爱|习惯|偏好|用|要|吃|喝))"
    r"(?P<what>.{1,100})$"
)
PLURAL = "want|prefer|like|love|enjoy|need|hate|dislike"
NAME = r"[A-Z][a-zà-ÿ'’-]{1,20}(?: [A-Z][a-zà-ÿ'’-]{1,20}){0,2}"
OTHERS = re.compile(
    rf"^(?:(?P<pronoun>[Hh]e|[Ss]he|[Tt]hey)|(?P<name>{NAME})){OFTEN}"
    r" (?P<verb>wants|prefers|likes|loves|enjoys|needs|hates|dislikes|can'?t stand"
    rf"|(?:doesn't|does not|no longer){OFTEN} (?:want|prefer|like|love|enjoy|need)s?"
    rf"|(?<=hey )(?:{PLURAL}|(?:don't|do not){OFTEN} (?:want|prefer|like|love|enjoy|need))){WHAT}"
)
ZH_OTHERS = re.compile(
    rf"^(?P<pronoun>他们|她们|他|她){ADVERBS}(?P<verb>(?:不再|不太|从不|并不|不)?(?:喜欢|想要|要|希望|偏好|爱)|讨厌)(?P<what>.{{1,100}})$"
)
NO_NAMES = frozenset(
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
NEGATED = re.compile(r"(?i)n't|\bnot\b|no longer|never|hate|dislike|stand|不|讨厌")
NO_TOPIC = re.compile(
    r"(?i)^(?:(?:it|that|this|them|those|these|you|him|her|me|us|one|so|not|more|most|to)(?: one)?$"
    r"|(?:how|what|why|where|that|the way|the idea|the fact|to (?:think|say|believe|know|hear|see)|your|you|when|if"
    r"|it (?:when|if|that|how))\b"
    r"|(?:你|这样|那样|这么|那么|它|他|她|的)|[了吧啊呢的]*$)"
)
ARTICLES = re.compile(r"(?i)^(?:the|an?|my|our|some|any|this|these|to|having|getting|being|drinking|eating)\s+")
AFTER_TOPIC = re.compile(
    r"(?i)(?: (?:any ?more|anymore|at all|very much|so much|a lot|again|either|best|most|better|too|these days"
    r"|nowadays"
    r"|any longer|for sure|myself|though|now|please)|了|吧|啊|呢|哦|的|呀)+$"
)
RATHER = re.compile(
    r"(?i) (?:over|rather than|instead of|more than) .{1,200}$|，?而不是.{1,60}$|胜过.{1,60}$|多过.{1,60}$"
)
REASON = re.compile(r"(?i)\s?[—–].*$| (?:so (?:that|I|we|you|it)|because|since (?:it|I|they)|as it) .*$")
NOT_FIRST = re.compile(
    r"(?i)^(?:please )?(?:do not|don't|never|no|stop|avoid)\s+|^请?(?:不要再?|别再?|不用|不再|停止|禁止|避免)"
)
BY_OTHERS = re.compile(
    r"(?i)^(?:he|she|it|they|there|this|that|these|those|mind|again|you|who|what)\b|^(?:他|她|它|这|那|再说|有)"
)
AM_TO = re.compile(
    r"(?i)^(?:I|we) (?:want|need|(?:woul)?'?d? ?like) you to "
    r"|^(?:I'd|we'd) like you to |^我(?:希望|想|要)你|^请(?:你|您)?"
    r"|^please |^you (?:should|must) "
)

LANGUAGES = {
    "chinese": "zh", "mandarin": "zh", "中文": "zh", "汉语": "zh", "普通话": "zh",
    "english": "en", "英文": "en", "英语": "en",
    "german": "de", "德文": "de", "德语": "de", "french": "fr", "法文": "fr", "法语": "fr",
    "japanese": "ja", "日文": "ja", "日语": "ja", "spanish": "es", "西班牙文": "es", "西班牙语": "es",
    "italian": "it", "意大利语": "it", "portuguese": "pt", "葡萄牙语": "pt",
    "russian": "ru", "俄文": "ru", "俄语": "ru",
    "korean": "ko", "韩文": "ko", "韩语": "ko", "dutch": "nl", "polish": "pl", "arabic": "ar", "阿拉伯语": "ar",
}  # fmt: skip
NAMES = "|".join(sorted(LANGUAGES, key=len, reverse=True))
IN_LANGUAGE = re.compile(rf"(?i)(?:\bin |用|使用|说|讲|以)(?P<value>{NAMES})(?![a-z])")
SPEAK = re.compile(
    r"(?i)\b(?:answer|reply|write|respond|speak|talk|communicate|message)(?:s|ing)?\b|回答|回复|写|交流|答复|说|讲|沟通|用|使用"
)
NOT_LANGUAGE = re.compile(r"(?i)\b(?:don't|do not|never|stop|no longer|not)\b|不要|别|不再|不用|停止")

IS = re.compile(
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
TO = re.compile(r"(?i)^(?: [^,;]{1,30}?)?\s+(?:to be|to|at) (?P<value>[^,;]{1,100})")
SET_BEFORE = re.compile(
    r"(?i)\b(?:set|change|switch|adjust|turn|put|move|raise|lower|keep|make|update|leave|prefer|like|want|need|have)"
    r"(?:s|ed|ted|ing)?\b[^,;]{0,40}$|(?:把|将)[^，；]{0,20}$"
)
NAMED_BEFORE = re.compile(r"(?:(?P<name>[\w'’-]{2,30})['’]s|(?P<zh>[\u4e00-\u9fff\w]{2,12})的)\s*(?:[\w-]{1,15} )?$")
OURS_BEFORE = re.compile(r"(?i)(?:\b(?:my|our)|我的|我们的|我方的|本公司的)\s*(?:[\w-]{1,15} )?$")
LONGEST_BEFORE = 60

OUTCOME = re.compile(
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
RESULT = re.compile(
    r"(?i)\b[0-9]{1,9} (?:tests? |checks? |specs? |examples? )?(?:passed|passing|ok|succeeded)\b|\bexit(?: code"
    r"|ed with|:)? ?[:=]? ?[0-9]{1,3}\b"
    r"|\bran [0-9]{1,9} tests?\b|\b[0-9]{1,9}/[0-9]{1,9}\b|\bsha256:[0-9a-f]{12,64}|[0-9]{1,9} ?(?:个|项|条)?(?:测试"
    r"|用例)?(?:已)?通过|退出码"
)
