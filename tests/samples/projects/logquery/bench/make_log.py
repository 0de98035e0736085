"""Writes a log with a fixed random seed: python bench/make_log.py LINES FILE"""

import datetime as dt
import random
import sys

SERVICES = ["gateway", "payments", "payouts", "search", "catalog", "mailer"]
TEXTS = ["request done", "cache miss", "upstream timeout after retry", "connection refused", "user logged in", "slow query"]


def main() -> None:
    lines, path = int(sys.argv[1]), sys.argv[2]
    rng = random.Random(42)
    now = dt.datetime(2026, 2, 1, tzinfo=dt.timezone.utc)
    with open(path, "w", encoding="utf-8") as out:
        for number in range(lines):
            now += dt.timedelta(milliseconds=rng.randint(1, 900))
            stamp = (now - dt.timedelta(milliseconds=rng.choice([0, 0, 0, 1500]))).isoformat(timespec="milliseconds")
            level = rng.choices(["DEBUG", "INFO", "WARN", "ERROR"], [30, 55, 10, 5])[0]
            status = rng.choices([200, 201, 404, 500, 503], [70, 10, 12, 5, 3])[0]
            out.write(
                f"{stamp.replace('+00:00', 'Z')} {level} {rng.choice(SERVICES)} status={status} took={rng.randint(1, 900)} "
                f'path=/api/v{rng.randint(1, 2)}/items/{number % 977} user=u{rng.randint(1, 400)} msg="{rng.choice(TEXTS)}"\n'
            )


if __name__ == "__main__":
    main()
