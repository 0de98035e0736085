import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.points import PointsError, PointsSpec, find_points, legal_cuts
from compaction.transcript import Message, RecordedCompaction, ToolCall, Transcript


def session(shape: str, tokens: int = 100, compactions: tuple[RecordedCompaction, ...] = ()) -> Transcript:
    """`u` user, `a` assistant text, `c` assistant with one call, `p` with two calls, `t` the next pending result."""
    messages: list[Message] = []
    pending: list[str] = []
    for seq, letter in enumerate(shape):
        calls: tuple[ToolCall, ...] = ()
        if letter in "cp":
            calls = tuple(ToolCall(f"{seq}-{n}", "bash", "{}") for n in range(1 if letter == "c" else 2))
            pending += [call.id for call in calls]
        role = {"u": "user", "t": "tool"}.get(letter, "assistant")
        result = pending.pop(0) if letter == "t" else None
        messages.append(Message(role, "x", tool_calls=calls, tool_call_id=result, seq=seq, tokens=tokens))  # type: ignore[arg-type]
    return Transcript("s", tuple(messages), compactions=compactions)


def test_a_cut_never_parts_a_call_from_its_result() -> None:
    assert legal_cuts(session("upttact").messages) == [False, True, False, False, True, True, False]


def test_a_result_that_never_came_does_not_forbid_cuts() -> None:
    assert legal_cuts(session("uca").messages) == [False, True, True]


def test_points_by_tokens_lie_where_the_history_grows_past_each_multiple() -> None:
    points = find_points(session("uaaaaaaaaa"), PointsSpec("tokens", 300))
    assert [(p.cycle, p.cut_seq, p.tokens_before, p.earlier_cuts) for p in points] == [
        (1, 3, 300, ()),
        (2, 6, 600, (3,)),
        (3, 9, 900, (3, 6)),
    ]


def test_a_point_moves_on_to_the_next_legal_cut() -> None:
    points = find_points(session("upttaaaa"), PointsSpec("tokens", 200))
    assert [p.cut_seq for p in points] == [4, 6]


def test_one_giant_message_makes_one_point() -> None:
    messages = tuple(
        Message("user" if i == 0 else "assistant", "x", seq=i, tokens=t) for i, t in enumerate((10, 9000, 10))
    )
    assert [p.cut_seq for p in find_points(Transcript("s", messages), PointsSpec("tokens", 1000))] == [2]


def test_there_is_no_point_after_the_last_message() -> None:
    assert find_points(session("uaa"), PointsSpec("tokens", 300)) == []


def test_points_by_messages() -> None:
    assert [p.cut_seq for p in find_points(session("u" + "ct" * 5), PointsSpec("messages", 4))] == [5, 9]


def test_recorded_points_are_where_the_session_compacted_itself() -> None:
    recorded = (RecordedCompaction(0), RecordedCompaction(3), RecordedCompaction(5), RecordedCompaction(99))
    assert [p.cut_seq for p in find_points(session("uactaaa", compactions=recorded), PointsSpec.parse("recorded"))] == [
        4,
        5,
    ]


def test_a_session_of_one_message_has_no_point() -> None:
    assert find_points(session("u", tokens=10**6), PointsSpec()) == []


@pytest.mark.parametrize(
    "text",
    [
        "tokens",
        "tokens:",
        "tokens:x",
        "tokens:1",
        "messages:0",
        "turns:5",
        "",
        "share:",
        "share:1",
        "share:9,",
        "sizes:",
    ],
)
def test_a_spec_that_cannot_be_read_says_what_is_expected(text: str) -> None:
    with pytest.raises(PointsError, match=r"expected tokens:N|must be at least"):
        PointsSpec.parse(text)


def test_points_by_share_lie_where_the_history_has_that_share_of_the_tokens() -> None:
    spec = PointsSpec.parse("share:0.9,0.5")
    points = find_points(session("u" + "ct" * 5), spec)
    assert [p.cut_seq for p in points] == [
        7,
    ]
    long = session("ua" * 10)
    assert [p.cut_seq for p in find_points(long, spec)] == [10, 18]
    assert [spec.budget(p, 2000) for p in find_points(long, spec)] == [1000, 1800]
    assert PointsSpec().budget(points[0], 2000) == 32_000


def test_points_by_sizes_lie_where_the_history_first_has_so_many_tokens_and_each_is_the_only_one() -> None:
    spec = PointsSpec.parse("sizes:1500,500,5000")
    assert str(spec) == "sizes:500,1500,5000"
    points = find_points(session("ua" * 10), spec)
    assert [(p.cycle, p.cut_seq, p.tokens_before, p.earlier_cuts) for p in points] == [
        (1, 5, 500, ()),
        (2, 15, 1500, ()),
    ]
    assert [spec.budget(p, 2000) for p in points] == [500, 1500]
    assert spec.budget() == 500


def test_a_message_that_passes_two_sizes_gives_the_point_of_the_greater() -> None:
    messages = tuple(Message("user", "x", seq=i, tokens=size) for i, size in enumerate((100, 2000, 100)))
    spec = PointsSpec.parse("sizes:500,1500")
    [point] = find_points(Transcript("s", messages), spec)
    assert (point.cut_seq, spec.budget(point)) == (2, 1500)


@pytest.mark.parametrize("text", ["sizes:8000,400", "sizes:8000,9999999999"])
def test_each_size_is_within_bounds(text: str) -> None:
    with pytest.raises(PointsError, match="each size must be at"):
        PointsSpec.parse(text)


def test_a_share_is_more_than_nothing_and_less_than_everything() -> None:
    for text in ("share:0.0,0.5", "share:1.5"):
        with pytest.raises(PointsError, match="more than 0 and less than 1"):
            PointsSpec.parse(text)
    assert str(PointsSpec.parse("share:.90,0.5,0.5")) == "share:0.5,0.9"


@pytest.mark.parametrize("text", ["tokens:32000", "messages:50", "recorded", "share:0.5,0.9", "sizes:500,8000"])
def test_a_spec_reads_back_as_written(text: str) -> None:
    assert str(PointsSpec.parse(text)) == text


@given(
    st.lists(st.integers(0, 900), min_size=1, max_size=30),
    st.sampled_from(["tokens:500", "messages:4", "share:0.5", "sizes:600,900", "recorded"]),
)
def test_a_session_that_may_not_have_a_point_has_none(sizes: list[int], text: str) -> None:
    spec = PointsSpec.parse(text)
    messages = tuple(Message("user", "x", seq=i, tokens=size) for i, size in enumerate(sizes))
    recorded = tuple(RecordedCompaction(at) for at in sizes[:2] if at % 3 == 0)
    transcript = Transcript("s", messages, compactions=recorded)
    if not spec.may_fire(len(messages), sum(sizes), len(recorded)):
        assert find_points(transcript, spec) == []
