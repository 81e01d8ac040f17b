"""Speech: who speaks to the agent, or claims somebody's authority, instead of about the world. Pure.

English and Chinese, and the two mixed in one sentence. Texts are folded before, see `folding`: lower case, simplified
characters. Every pattern takes time in proportion to the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from memoryhub.policy.screening.folding import fold_text


def _either(*ways: str) -> str:
    return f"(?:{'|'.join(ways)})"


# What an instruction sets aside, and how; each in both languages, since one sentence may mix them.
_SET_ASIDE = _either(
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|overrule|bypass(?:ing)?|circumvent|set aside)\b",
    r"\bpay no attention to\b|\b(?:do not|don't|stop) (?:follow|obey)(?:ing)?\b",
    r"忽略|无视|绕过|忘记|忘掉|抛开|抛弃|不要理会|不要遵守|不再遵守|不用管|别管|别理|跳过",
)
_RULES = _either(
    r"\b(?:instructions?|permissions?|polic(?:y|ies)|guardrails?|previous|prior|everything above|rules?)\b",
    r"\b(?:restrictions?|safety|safeguards?|guidelines?|access (?:checks?|controls?)|system prompt)\b",
    r"指令|指示|权限|规则|限制|策略|要求|提示词|约束|设定|守则|安全|审批|审核流程",
)
_ORDERS_TO_YOU = _either(
    r"remember|store|save|obey|reveal|disclose|send|forward|act as|comply|approve|trust|transfer|wire|execute|ignore",
    r"grant|disable|redirect|pretend|leak|upload",
)
_ORDERS = _either(
    _ORDERS_TO_YOU, r"memori[sz]e|pay|recommend|book|run|skip|enable|cc|bcc|treat|share|delete|include|reply with"
)
_SECRETS = r"(?:passwords?|keys?|secrets?|credentials?|tokens?|密码|密钥|令牌|口令|凭证|凭据|私钥)"
_MODELS = r"(?:ais?|llms?|assistants?|language models?|chatbots?|bots?)"
_ZH_MODELS = r"(?:ai|智能体|智能助手|助手|大模型|语言模型|机器人|代理程序)"
_ZH_ORDERS = _either(
    r"忽略|存储|保存|记住|牢记|发送|转发|执行|信任|批准|透露|泄露|授予|写入|关闭|禁用|停用|转账|汇款|付款|支付|推荐",
    r"跳过|绕过|抄送|服从|照做|删除",
)
_NOT_FORBIDDEN = "".join(
    rf"(?<!{no})" for no in ("不要", "不得", "禁止", "切勿", "不能", "不可", "不应", "请勿", "别", "严禁")
)

_INSTRUCTIONS = re.compile(
    "(?a)"
    + _either(
        # Set rules aside
        _SET_ASIDE + r".{0,40}" + _RULES,
        r"\binstructions? (?:override|replace|supersede)",
        r"\b(?:this|the following) (?:message |text |note )?(?:overrides?|supersedes?|replaces?) "
        r"(?:all|any|every|your)\b",
        # Be somebody else
        r"\byou are (?:now (?:an?|the|in|my|free|acting|no)\b|no longer\b|in developer mode)",
        r"\bpretend (?:to be|you are|that you)\b|\bdo anything now\b",
        r"\b(?:enter|enable|activate) (?:developer|jailbreak|dan|god) mode\b(?! (?:on|in|for) )",
        r"进入(?:开发者|越狱|上帝)模式|你现在是|你不再(?:是|受)|假装(?:你|自己)是|扮演.{0,6}(?:管理员|无限制)",
        # Take this for the system's word
        r"\b(?:your|new|updated) system prompt\b|\bsystem prompt ?:|<\|?(?:system|im start)\b|\[/?(?:inst|system)\]",
        r"</?(?:system|instructions?|information|important)>|#{2,} ?(?:system|instructions?)\b",
        r"\b(?:new|updated|important|urgent|hidden) instructions? ?(?::|for\b)",
        r"新(?:的)?(?:系统)?(?:指令|提示词)[:,]|系统(?:提示|指令)[:,]",
        # Orders to the reader
        r"\byou (?:must|should|will|shall|have to|need to|are (?:required|ordered|instructed) to) "
        r"(?:now |always |never |immediately |first )?" + _ORDERS_TO_YOU + r"\b",
        r"\bfrom now on,? (?:please |you (?:will |must |should )?|always |never )*" + _ORDERS + r"\b",
        r"\bfrom now on,? (?:you|always|never)\b",
        r"\b(?:when(?:ever)?|if|every time) (?:the user|anyone|somebody|someone|you are|you're|they) "
        r"(?:is |are )?ask(?:s|ed)?\b.{0,60}\b(?:say|answer|reply|recommend|respond|tell)\b",
        r"\bbefore (?:you|doing|answering|continuing).{0,60}\b(?:first|you must|please) " + _ORDERS + r"\b",
        r"\b(?:execute|run) (?:the )?(?:following|this) (?:command|code|script|query|shell)\b",
        r"\bcurl\b.{0,80}\| ?(?:ba)?sh\b",
        r"你(?:必须|应该|要|需要|务必|得|现在)(?:立即|马上|永远|始终|先)?.{0,4}(?:" + _ZH_ORDERS + r"|执行以下)",
        r"(?:从现在(?:起|开始)|今后|以后|从此),?(?:你|请|一律|始终|总是|都|不要|永远|必须|直接|把|将|所有.{0,8}){0,3}.{0,12}"
        + _ZH_ORDERS,
        r"(?:每次|每当|当|如果|只要)(?:用户|有人|对方|别人).{0,4}(?:问|询问|提到|要求|提起).{0,16}(?:回答|回复|推荐|说|告诉|答)",
        r"(?:执行|运行)(?:以下|下面|如下|这段|下列)的?(?:命令|代码|脚本|操作|步骤|指令)",
        # Orders to whatever model reads it
        r"\b(?:note|message|attention|notice|important)\b[,:]? (?:to |for )?(?:the |any |all |every )?"
        + _MODELS
        + r"\b",
        r"\b(?:dear|hey|hello|hi)\b,? (?:the |any |all |every )?"
        + _MODELS
        + r"\b[,:!.]? ?(?:please |you |kindly |must )*"
        + _ORDERS
        + r"\b",
        r"\b" + _MODELS + r" (?:must|should|shall|has to|have to|needs? to|(?:is|are) required to|will now) "
        r"(?:now |always |never |immediately )?" + _ORDERS + r"\b",
        r"\b(?:" + _MODELS + r"|agents?|models?) (?:that (?:is|are) )?"
        r"(?:reading|processing|parsing|seeing|summari[sz]ing) (?:this|the)\b",
        r"\bas (?:an? )?(?:ai|llm|language model|agent),? (?:you|ignore|always|never)\b",
        _ZH_MODELS + r"(?:们)?.{0,6}(?:必须|务必|应当|应该|请|需要|要|一律).{0,12}" + _ZH_ORDERS,
        r"(?:致|给|告知|提示|通知).{0,4}(?:所有|任何|正在)?.{0,6}" + _ZH_MODELS + r".{0,8}[:,]",
        r"(?:阅读|处理|看到|读到|总结|解析)(?:此|这|本|该).{0,8}的?(?:" + _ZH_MODELS + r"|模型|代理)",
        # Give away or keep secrets
        r"\b(?:send|forward|e-?mail|post|upload|leak|exfiltrate|reveal|print|output|disclose|repeat|show me)\b "
        r"(?:me |us )?(?:your|all|every|the (?:stored|saved|user'?s|owner'?s)) .{0,30}"
        r"(?:\b" + _SECRETS + r"\b|\bprompts?\b|\binstructions?\b)",
        r"\b(?:store|save|keep|record|remember|add|put)\b.{0,30}\b"
        + _SECRETS
        + r"\b.{0,30}\b(?:in|into|to)\b.{0,20}\b(?:memory|notes|context)\b",
        r"\b(?:grant|give) (?:me|us|yourself|everyone|anyone) .{0,20}\b(?:access|rights?|permissions?|privileges?)\b",
        _NOT_FORBIDDEN
        + r"(?:把|将).{0,12}"
        + _SECRETS
        + r".{0,8}(?:发给|发送|发到|发往|告诉|透露|传给|交给|泄露|上传|保存|存入|写入|记)",
        r"(?:请(?!勿|不)|你|务必|立即|马上|帮我|必须).{0,4}(?:保存|记住|存储|发送|透露|输出|上传).{0,8}" + _SECRETS,
        r"(?:^|[.。!;,\"'“] ?)(?:并)?(?:保存|记住|存储|发送|store|save|send).{0,8}(?:api ?)?"
        + _SECRETS
        + r"(?:$|[.。!;,\"'”])",
        r"(?:透露|输出|显示|打印|泄露|告诉我|复述).{0,8}(?:系统提示|提示词|全部指令)",
        r"(?:授予|开放|给予)(?:我|我们|对方|该账号|任何人).{0,8}(?:权限|访问权)",
        # Keep people out of it
        r"\b(?:do not|don't|never|without) (?:tell|inform|notify|alert|mention|ask|telling|informing|notifying|asking)"
        r".{0,20}\b(?:the )?(?:user|owner|reviewer|human|operator)\b",
        r"(?:不要|不必|无需|别)(?:告诉|通知|告知|提醒|询问|征求).{0,6}(?:用户|主人|管理员|审核|所有者|本人)",
        # Write to the memory
        r"\b(?:add|save|store|write|commit) (?:this|the following|it|that) (?:to|in|into) "
        r"(?:your )?(?:long-term |permanent )?memory\b",
        r"\b(?:remember|store|save|treat|record) (?:this|the following|it) as (?:an? )?"
        r"(?:permanent|trusted|verified|approved|absolute|fact)",
        r"\bremember (?:that |this:? )?.{0,60}"
        r"\b(?:always|never|is allowed to|may access|full access|no confirmation)\b",
        r"(?:把|将)?(?:这|此|以下|上述|下列|该).{0,8}(?:写入|存入|加入|保存到|记入|添加到)(?:你的)?(?:长期|永久)?记忆",
        r"(?:把|将)?(?:这|此|以下|上述|该).{0,8}(?:视为|当作|标记为|作为)"
        r"(?:可信|已验证|事实|真实|权威|系统指令|最高优先级|永久)",
        r"(?:记住|牢记|记录下来)[:,]?.{0,30}(?:永远|始终|一律|无需|不需要|可以跳过|完全访问|有权|最高权限)",
    )
)

_WHO = _either(
    r"owner|administrators?|admins?|security(?: team)?|management|compliance|legal|ceo|cto|ciso|root|operator|reviewer",
    r"team lead|data protection(?: officer)?|it department|user|anthropic|openai|google|microsoft|platform team",
)
_APPROVED = r"(?:approved|authori[sz]ed|signed off|cleared|sanctioned|permitted|granted|confirmed|verified|whitelisted)"
_ZH_WHO = _either(
    r"管理员|所有者|主人|负责人|领导|主管|老板|安全团队|安全部门?|合规部?|审核员|运维|用户本人|用户|官方|公司|总部",
    r"法务|平台方|数据保护官",
)
_ZH_APPROVED = r"(?:批准|授权|同意|许可|审批|确认|核准|审核通过|认可)"
_AUTHORITY = re.compile(
    "(?a)"
    + _either(
        r"\b(?:this|these|it|already|pre|following|above|request|change|transfer|action)\b.{0,40}\b"
        + _APPROVED
        + r" by (?:the |our |your )?"
        + _WHO
        + r"\b",
        r"(?:^|[.!:;(\[\"'“] ?)(?:pre-?)?" + _APPROVED + r" by (?:the |our |your )?" + _WHO + r"\b",
        r"\bthe "
        + _WHO
        + r" (?:has |have |had )?(?:already |personally |explicitly )?"
        + _APPROVED
        + r" (?:this|it|the following|that you|you to|all)\b",
        r"\b(?:i am|i'm|this is|speaking as|acting as|on behalf of|message from|signed,?) "
        r"(?:the |your |an? )?(?:system |site |chief )?(?:administrators?|admin|owner|security team|root|ciso|operator"
        r"|openai|anthropic|compliance (?:team|officer)|developers? of this)\b",
        r"\b(?:no (?:further |additional |more )?|without (?:further |any )?)"
        r"(?:approval|confirmation|review|permission|authori[sz]ation)"
        r"(?: (?:is|are|was))? (?:needed|required|necessary)\b",
        r"\b(?:already|pre-?)[ -]?(?:approved|authori[sz]ed|validated|verified)\b.{0,30}"
        r"\b(?:so|no need|skip|trust|treat|store|commit|proceed)\b",
        r"\byou (?:have|are given|now have) (?:full |explicit |my |the owner'?s )?"
        r"(?:permission|authori[sz]ation|approval|authority) to\b",
        r"\bofficial (?:notice|directive|instruction|policy)\b.{0,30}\b(?:from|by|of)\b.{0,20}" + _WHO + r"\b",
        r"已(?:经)?(?:由|获得?|被|经|得到).{0,8}" + _ZH_APPROVED,
        r"经(?:过)?" + _ZH_WHO + r".{0,4}" + _ZH_APPROVED,
        _ZH_WHO + r"(?:已(?:经)?|本人|亲自|明确|特别)+.{0,4}" + _ZH_APPROVED,
        r"(?:我是|本人是|我们是|这里是|以)(?:系统|平台|网站|安全|超级|本)?"
        r"(?:管理员|所有者|安全团队|官方|合规部|运维)(?:的?身份)?",
        r"(?:无需|不需要|不用|不必|免)(?:再|任何|进一步|人工)?.{0,2}(?:审批|确认|审核|批准|授权|复核)"
        r"(?=$|[,.。;!]|即可|直接|就)",
        r"(?:此|本|该|这条)(?:消息|信息|通知|邮件|指令)(?:来自|由).{0,4}" + _ZH_WHO,
    )
)


@dataclass(frozen=True, slots=True)
class Speech:
    """Hold what a text does instead of saying something about the world."""

    instructs: bool
    claims_authority: bool


def judge_speech(*, text: str) -> Speech:
    """Tell whether a text speaks to the agent (do this, ignore that), and whether it claims authority.

    The second: it says that somebody allowed what it says, or speaks in the name of somebody who could.
    """
    folded = fold_text(text=text)
    return Speech(
        instructs=_INSTRUCTIONS.search(folded) is not None, claims_authority=_AUTHORITY.search(folded) is not None
    )


def words_to_screen(*values: Any) -> str:
    """Return every word of some values, names of fields included, as one text to screen, each a clause of its own."""
    words: list[str] = []
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            words.append(value)
        elif isinstance(value, dict):
            waiting.extend(part for pair in reversed(value.items()) for part in (pair[1], pair[0]))
        elif isinstance(value, list | tuple):
            waiting.extend(reversed(value))
    return "; ".join(words)
