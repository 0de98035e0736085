"""Times one query: python bench/run_once.py FILE QUERY"""

import sys
import time

from logquery import engine
from logquery.query import parse_query


def main() -> None:
    path, query = sys.argv[1:3]
    begun = time.perf_counter()
    records = engine.load([path])
    loaded = time.perf_counter()
    found = sum(1 for _ in engine.select(records, parse_query(query)))
    done = time.perf_counter()
    print(f"{len(records)} records, {found} found, load {loaded - begun:.2f} s, select {done - loaded:.2f} s")


if __name__ == "__main__":
    main()
