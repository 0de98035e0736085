"""Command line of logquery."""

from __future__ import annotations

import argparse
import sys
from typing import List, Optional

from logquery import __version__, engine, tables
from logquery.lineparser import BadLine, parse_time
from logquery.query import QueryError, parse_query


def build_parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="logquery", description="Search and count structured logs.")
    top.add_argument("--version", action="version", version=__version__)
    top.add_argument("query", help="the query, see docs/query.md; an empty one matches everything")
    top.add_argument("files", nargs="+")
    top.add_argument("--from", dest="start", metavar="TIME")
    top.add_argument("--to", dest="end", metavar="TIME")
    top.add_argument("--count-by", metavar="FIELD", help="count per value of a field")
    top.add_argument("--limit", type=int, default=0, help="stop after so many records")
    top.add_argument("--show-errors", action="store_true", help="list the lines that could not be read")
    return top


def main(argv: Optional[List[str]] = None) -> int:
    args = build_parser().parse_args(argv)
    errors: List = []
    try:
        node = parse_query(args.query) if args.query.strip() else None
        start = parse_time(args.start) if args.start else None
        end = parse_time(args.end) if args.end else None
        found = engine.select(engine.load(args.files, errors), node, start, end)
        if args.count_by:
            print(tables.counts(engine.count_by(found, args.count_by)))
        else:
            for number, record in enumerate(found, start=1):
                print(record.raw)
                if number == args.limit:
                    break
    except (QueryError, BadLine, OSError) as error:
        print(f"logquery: {error}", file=sys.stderr)
        return 2
    if errors and args.show_errors:
        for number, message in errors:
            print(f"line {number}: {message}", file=sys.stderr)
    return 0
