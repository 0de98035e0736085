"""Cron expressions: parsing, matching, and the next time one matches."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from .clock import UTC
from .errors import CronSyntaxError

MONTHS = {
    name: number
    for number, name in enumerate(
        "jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1
    )
}
DAYS = {name: number for number, name in enumerate("sun mon tue wed thu fri sat".split())}

SHORT_FORMS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}

# How far ahead to look. The longest honest gap is from one 29 February to the
# next across a century that is not a leap year: eight years and a bit.
HORIZON = timedelta(days=366 * 9)


@dataclass(frozen=True)
class Field:
    """One field of an expression."""

    name: str
    low: int
    high: int
    values: frozenset[int]
    restricted: bool
    text: str

    def __contains__(self, value: int) -> bool:
        return value in self.values


def _number(text: str, names: dict[str, int], expression: str, field: str) -> int:
    lowered = text.lower()
    if lowered in names:
        return names[lowered]
    if not text.isdigit():
        raise CronSyntaxError(expression, f"{field}: {text!r} is not a number")
    return int(text)


def _parse_part(
    part: str,
    low: int,
    high: int,
    names: dict[str, int],
    expression: str,
    field: str,
) -> set[int]:
    body, slash, step_text = part.partition("/")
    step = 1
    if slash:
        if not step_text.isdigit() or int(step_text) == 0:
            raise CronSyntaxError(expression, f"{field}: bad step {step_text!r}")
        step = int(step_text)
    if body == "*":
        first, last = low, high
    elif "-" in body:
        first_text, _, last_text = body.partition("-")
        first = _number(first_text, names, expression, field)
        last = _number(last_text, names, expression, field)
    else:
        first = _number(body, names, expression, field)
        last = high if slash else first
    # Sunday may be written as 7
    if field == "day of week":
        if first == 7 and last == 7:
            first = last = 0
        elif last == 7:
            return set(range(first, 7, step)) | {0}
    if first < low or last > high:
        raise CronSyntaxError(expression, f"{field}: {body!r} is not within {low}-{high}")
    if first > last:
        raise CronSyntaxError(expression, f"{field}: {body!r} runs backwards")
    return set(range(first, last + 1, step))


def _parse_field(
    text: str, low: int, high: int, names: dict[str, int], expression: str, name: str
) -> Field:
    values: set[int] = set()
    for part in text.split(","):
        if not part:
            raise CronSyntaxError(expression, f"{name}: empty item in list")
        values |= _parse_part(part, low, high, names, expression, name)
    return Field(
        name=name,
        low=low,
        high=high,
        values=frozenset(values),
        restricted=not text.startswith("*"),
        text=text,
    )


@dataclass(frozen=True)
class CronExpression:
    source: str
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    @classmethod
    def parse(cls, source: str) -> CronExpression:
        text = SHORT_FORMS.get(source.strip().lower(), source)
        fields = text.split()
        if len(fields) != 5:
            raise CronSyntaxError(source, f"five fields wanted, {len(fields)} found")
        minute, hour, day, month, weekday = fields
        return cls(
            source=source,
            minute=_parse_field(minute, 0, 59, {}, source, "minute"),
            hour=_parse_field(hour, 0, 23, {}, source, "hour"),
            day=_parse_field(day, 1, 31, {}, source, "day of month"),
            month=_parse_field(month, 1, 12, MONTHS, source, "month"),
            weekday=_parse_field(weekday, 0, 6, DAYS, source, "day of week"),
        )

    def matches_day(self, moment: datetime) -> bool:
        """Whether the date of `moment` is one the expression names."""
        if moment.month not in self.month:
            return False
        in_day = moment.day in self.day
        in_weekday = (moment.isoweekday() % 7) in self.weekday
        if self.day.restricted and self.weekday.restricted:
            return in_day or in_weekday
        return in_day and in_weekday

    def matches(self, moment: datetime) -> bool:
        """Whether the wall clock time of `moment` matches."""
        return (
            moment.minute in self.minute
            and moment.hour in self.hour
            and self.matches_day(moment)
        )

    def next_after(self, after: datetime, zone: ZoneInfo) -> datetime | None:
        """The first matching minute after `after`, as a local time in `zone`.

        The search walks over real minutes, so that it cannot get stuck on wall
        clock times that do not exist.
        """
        cursor = after.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        limit = cursor + HORIZON
        while cursor <= limit:
            local = cursor.astimezone(zone)
            if not self.matches_day(local):
                # to the next local midnight, or a little before it
                minutes_left = (23 - local.hour) * 60 + (60 - local.minute)
                cursor += timedelta(minutes=max(1, minutes_left - 120))
                if minutes_left <= 120:
                    cursor = self._creep_to_midnight(cursor, local, zone)
                continue
            if local.hour in self.hour and local.minute in self.minute:
                return local
            cursor += timedelta(minutes=1)
        return None

    @staticmethod
    def _creep_to_midnight(cursor: datetime, local: datetime, zone: ZoneInfo) -> datetime:
        while cursor.astimezone(zone).date() == local.date():
            cursor += timedelta(minutes=1)
        return cursor

    def upcoming(self, after: datetime, zone: ZoneInfo, count: int) -> list[datetime]:
        found: list[datetime] = []
        cursor = after
        while len(found) < count:
            moment = self.next_after(cursor, zone)
            if moment is None:
                break
            found.append(moment)
            cursor = moment
        return found

    def describe(self) -> str:
        """A short sentence for `nightbell list`."""
        if self.source.startswith("@"):
            return self.source[1:]
        if not self.hour.restricted and not self.minute.restricted:
            return f"every minute matching {self.minute.text}"
        if not self.hour.restricted:
            return f"at minute {self.minute.text} of hours {self.hour.text}"
        days = "every day"
        if self.weekday.restricted:
            days = f"on weekdays {self.weekday.text}"
        elif self.day.restricted:
            days = f"on days {self.day.text}"
        return f"at {self.hour.text}:{self.minute.text.zfill(2)} {days}"
