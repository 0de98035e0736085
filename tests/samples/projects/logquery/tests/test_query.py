import pytest

from logquery.lineparser import parse_line
from logquery.query import QueryError, matches, parse_query

RECORD = parse_line('2026-02-01T10:20:30Z ERROR payments status=503 took=250 msg="connection refused by host"')


@pytest.mark.parametrize(
    "query",
    [
        "level=error",
        "level=ERROR",
        "service=pay*",
        "service!=gateway",
        "took>=250",
        "took>99",
        'msg~"refused|timeout"',
        "level=error and took>100",
        "level=info or status=503",
        "not level=info",
        "not (level=info or level=warn) and service=payments",
        'msg="connection refused by host"',
    ],
)
def test_found(query):
    assert matches(parse_query(query), RECORD)


@pytest.mark.parametrize("query", ["level=err", "took<250", "nothing=1", "nothing!=1", "service=*pay", "msg~^refused"])
def test_not_found(query):
    assert not matches(parse_query(query), RECORD)


@pytest.mark.parametrize("query", ["level", "level=", "(level=error", "level=error)", "and", "level=error or", "a=b c=d"])
def test_bad_queries(query):
    with pytest.raises(QueryError):
        parse_query(query)
