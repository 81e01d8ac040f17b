"""What words give away: only for this task, a guess, a success that somebody reports; in English and Chinese."""

from __future__ import annotations

import pytest

from memoryhub.policy.wording import claims_success, holds_only_now, names_preference, shows_result, sounds_inferred

ONLY_NOW = [
    "Write this report in English.",
    "Just this once, use German.",
    "For now, answer briefly.",
    "English for this trip, please.",
    "这次报告用英文",
    "本次会议请用中文",
    "暂时不要发邮件",
    "這個報告用英文",
]
LASTING = [
    "From now on, write every report in English.",
    "Not only this time: always use German.",
    "I prefer tea.",
    "This is a report about language.",
    "以后报告都用英文",
    "不只是这次，以后都用中文",
    "这次例外，平时默认用中文",
    "我喜欢喝茶",
]
GUESSES = [
    "Maybe it is the proxy node.",
    "It might be the cache.",
    "I suspect the load balancer.",
    "Probably Hans pays within 30 days.",
    "Not sure, but the job seems to be stuck.",
    "可能是代理节点的问题",
    "也许是缓存",
    "估计下周上线",
    "好像是网络故障",
    "應該是磁碟滿了吧",
]
FACTS = [
    "The proxy node is down.",
    "Hans pays within 45 days.",
    "The job may run at night.",
    "The possible values are 1 and 2.",
    "May is the busiest month.",
    "代理节点已停机",
    "请尽可能简短",
    "可能的话请用中文",
    "这不可能",
    "可能性很小的告警会被过滤",
    "估计值写在第三列",
]
SUCCESSES = [
    "All tests passed.",
    "The build succeeded",
    "the pipeline is green",
    "Every check has passed",
    "It was verified to be working.",
    "所有测试都通过了。",
    "構建成功",
    "全部用例通过",
]
NO_SUCCESSES = [
    "The tests are in tests/unit.",
    "A test of the heater is planned.",
    "The budget was passed in March.",
    "测试计划在三月更新",
    "他通过考试了",
]


@pytest.mark.parametrize("fact_key", ["preference.seat", "Preference.Seat", "user.preferences.seat", "用户.偏好.座位"])
def test_a_key_of_preferences_is_noticed(fact_key: str) -> None:
    assert names_preference(fact_key=fact_key)
    assert not names_preference(fact_key="seat.preferenceless")


@pytest.mark.parametrize("text", ONLY_NOW)
def test_what_holds_for_one_task_is_noticed(text: str) -> None:
    assert holds_only_now(text=text)


@pytest.mark.parametrize("text", LASTING)
def test_what_lasts_is_not(text: str) -> None:
    assert not holds_only_now(text=text)


@pytest.mark.parametrize("text", GUESSES)
def test_a_guess_is_noticed(text: str) -> None:
    assert sounds_inferred(text=text)


@pytest.mark.parametrize("text", FACTS)
def test_a_fact_is_no_guess(text: str) -> None:
    assert not sounds_inferred(text=text)


@pytest.mark.parametrize("text", SUCCESSES)
def test_a_reported_success_is_noticed(text: str) -> None:
    assert claims_success(text=text)


@pytest.mark.parametrize("text", NO_SUCCESSES)
def test_other_news_is_no_success(text: str) -> None:
    assert not claims_success(text=text)


@pytest.mark.parametrize(
    ("kind", "source_type", "has_reference", "fields", "shown"),
    [
        ("event_span", "tool_result", False, ["text"], False),
        ("event_span", "tool_result", False, ["text", "output"], True),
        ("event_span", "tool_result", False, ["exit_code"], True),
        ("event_span", "tool_result", True, ["text"], True),
        ("event_span", "tool_result", False, None, False),
        ("event_span", "message", True, ["output"], False),
        ("event_span", None, None, None, False),
        ("reproduction", None, None, None, True),
    ],
)
def test_a_result_is_more_than_somebodys_word(
    kind: str, source_type: str | None, has_reference: bool | None, fields: list[str] | None, shown: bool
) -> None:
    found = shows_result(kind=kind, source_type=source_type, has_reference=has_reference, fields=fields)
    assert found is shown
