"""Parses and evaluates queries, see docs/query.md."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import List, Tuple, Union

from logquery.record import Record

TOKEN = re.compile(r'\s*(?:(?P<paren>[()])|(?P<op><=|>=|!=|=|<|>|~)|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<word>[^\s()=<>!~"]+))')


class QueryError(ValueError):
    """The query could not be understood."""


@dataclass(frozen=True)
class Compare:
    field: str
    op: str
    value: str


@dataclass(frozen=True)
class Not:
    inner: "Node"


@dataclass(frozen=True)
class Both:
    left: "Node"
    right: "Node"


@dataclass(frozen=True)
class Either:
    left: "Node"
    right: "Node"


Node = Union[Compare, Not, Both, Either]


def tokenize(text: str) -> List[Tuple[str, str]]:
    tokens: List[Tuple[str, str]] = []
    at = 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        if not match:
            raise QueryError(f"cannot read the query at {text[at:]!r}")
        kind = match.lastgroup or ""
        tokens.append((kind, match[kind]))
        at = match.end()
    return tokens


def parse_query(text: str) -> Node:
    tokens = tokenize(text)
    node, at = _either(tokens, 0)
    if at != len(tokens):
        raise QueryError(f"unexpected {tokens[at][1]!r}")
    return node


def _either(tokens: List[Tuple[str, str]], at: int) -> Tuple[Node, int]:
    node, at = _both(tokens, at)
    while at < len(tokens) and tokens[at] == ("word", "or"):
        right, at = _both(tokens, at + 1)
        node = Either(node, right)
    return node, at


def _both(tokens: List[Tuple[str, str]], at: int) -> Tuple[Node, int]:
    node, at = _not(tokens, at)
    while at < len(tokens) and tokens[at] == ("word", "and"):
        right, at = _not(tokens, at + 1)
        node = Both(node, right)
    return node, at


def _not(tokens: List[Tuple[str, str]], at: int) -> Tuple[Node, int]:
    if at >= len(tokens):
        raise QueryError("the query ends too early")
    if tokens[at] == ("word", "not"):
        inner, at = _not(tokens, at + 1)
        return Not(inner), at
    if tokens[at] == ("paren", "("):
        node, at = _either(tokens, at + 1)
        if at >= len(tokens) or tokens[at] != ("paren", ")"):
            raise QueryError("a closing parenthesis is missing")
        return node, at + 1
    if at + 2 >= len(tokens) or tokens[at][0] != "word" or tokens[at + 1][0] != "op":
        raise QueryError(f"expected a comparison at {tokens[at][1]!r}")
    if tokens[at + 2][0] not in ("word", "quoted"):
        raise QueryError(f"expected a value after {tokens[at + 1][1]!r}")
    return Compare(tokens[at][1], tokens[at + 1][1], tokens[at + 2][1]), at + 3


def matches(node: Node, record: Record) -> bool:
    if isinstance(node, Both):
        return matches(node.left, record) and matches(node.right, record)
    if isinstance(node, Either):
        return matches(node.left, record) or matches(node.right, record)
    if isinstance(node, Not):
        return not matches(node.inner, record)
    actual = record.get(node.field)
    if actual is None:
        return False
    if node.op == "~":
        return re.search(node.value, actual) is not None
    if node.op in ("=", "!="):
        same = re.match(fnmatch.translate(node.value.lower()), actual.lower()) is not None
        return same == (node.op == "=")
    left, right = _comparable(actual, node.value)
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[node.op]


def _comparable(left: str, right: str) -> tuple:
    try:
        return float(left), float(right)
    except ValueError:
        return left, right
