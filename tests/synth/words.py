"""The words that made-up projects, people and agents use, and the patterns of what they say.

In the patterns ``{f}`` is a file, ``{a}`` and ``{b}`` are names in the code, ``{c}`` a component, ``{n}`` a number,
``{p}`` a package with its version, ``{t}`` a test.
"""

from __future__ import annotations

NOUNS = tuple(
    """account agenda alarm anchor archive asset audit badge balance basket batch beacon billing blob board booking
    bridge bucket budget bundle cache calendar campaign canvas cargo catalog channel chart claim client cluster column
    comment config contact contract counter coupon course cursor customer dashboard dataset deadline deposit device
    digest discount document domain draft driver event expense export facet feed fence fleet folder forecast form frame
    gateway glossary grant group guard handle harvest header history hook hub icon image import inbox index ingest
    invoice journal kernel key label lane layer layout lead ledger lens lesson level licence link list locale lock
    lookup machine mailbox manifest map margin marker market matrix member menu message meter migration mirror module
    monitor network note notice offer order outline owner packet page panel parcel parser partner patch payment payout
    permit pipeline planner plugin policy pool portal post price printer probe profile project prompt proxy purchase
    query queue quota rate reader recipe record refund region registry release report request reservation resource
    result retry review reward ring role roster route rule sample schedule schema score search season segment sensor
    series session setting shard share shift signal site sketch slot snapshot source span stage status step stock store
    stream summary supply survey switch tag target task team template tenant ticket timer token topic trace track
    transfer trigger trip unit update upload user vault vendor version view visit voucher wallet watcher webhook widget
    window worker zone""".split()
)
VERBS = tuple(
    """accept add adjust allocate append apply archive assign attach build cancel charge check clean clear clone close
    collect commit compare compute convert copy count create decode delete derive detach dispatch drain encode enqueue
    ensure evict expand export extract fetch fill filter find flush fold format freeze gather generate group guess
    handle hash hydrate import index insert join limit link list load lock log lookup map mark match measure merge move
    normalize notify open order pack parse patch pause peek pick prepare prune publish pull purge push rank read rebuild
    record reduce refresh register reject release remove render replace replay report reset resolve restore retry revoke
    rotate route run sample save scan schedule seed select send serve settle share skip sort split start stop store
    strip submit sum sync tag take track transform trim unlock unpack update upsert validate verify wait walk warm wrap
    write""".split()
)
ADJECTIVES = tuple(
    """active archived async atomic base batched binary blank bulk cached closed cold compact current daily dead default
    dirty done draft early empty exact expired external failed fast final first fixed frozen full global hidden hot idle
    inner internal invalid last late latest lazy legacy linked local locked max merged min missing nested next nullable
    old open optional outer parent partial pending plain primary private public queued rare raw ready recent remote
    retried root safe scoped shared short signed simple single slow sorted stale static strict temp total trusted typed
    unique unread upper valid virtual warm weak weekly whole wide""".split()
)
ERRORS = ("ValueError", "KeyError", "TypeError", "RuntimeError", "TimeoutError", "LookupError", "PermissionError")

PACKAGES = {
    "python": (
        "pytest",
        "ruff",
        "mypy",
        "httpx",
        "pydantic",
        "sqlalchemy",
        "redis",
        "celery",
        "jinja2",
        "click",
        "rich",
        "uvicorn",
        "starlette",
        "orjson",
        "structlog",
        "alembic",
        "polars",
        "boto3",
    ),
    "typescript": (
        "typescript",
        "vitest",
        "eslint",
        "prettier",
        "zod",
        "express",
        "prisma",
        "ioredis",
        "undici",
        "pino",
        "vite",
        "tsx",
        "react",
        "dayjs",
        "commander",
        "bullmq",
        "kysely",
        "hono",
    ),
    "go": (
        "github.com/spf13/cobra",
        "github.com/jackc/pgx",
        "github.com/rs/zerolog",
        "github.com/go-chi/chi",
        "github.com/stretchr/testify",
        "golang.org/x/sync",
        "golang.org/x/net",
        "google.golang.org/grpc",
        "github.com/redis/go-redis",
        "github.com/google/uuid",
        "gopkg.in/yaml.v3",
        "github.com/sony/gobreaker",
    ),
}

REQUESTS = (
    "The {c} is wrong: after {n} entries `{a}` gives back what `{b}` should have thrown away.",
    "Please add a way to {a} to the {c}, with tests, and describe it in the docs.",
    "Can you find out why {t} fails on the build machine since we went to {p}?",
    "Split {f} into smaller pieces: it has grown to {n} lines and nobody dares to touch `{a}`.",
    "We get {n} reports a day that the {c} hangs when `{a}` meets an empty list. Repair that.",
    "Move everything that concerns `{a}` out of {f}, so that the {c} can be used without it.",
    "Write the missing tests for {f}; `{a}` and `{b}` have none at all.",
    "Look through the last change to {f} and tell me what can go wrong with `{a}`.",
    "Make the {c} take a limit of {n} a minute, and say in the answer how long to wait.",
    "Upgrade to {p} and mend whatever breaks in {f}.",
)
CONSTRAINTS = (
    "Do not change the signature of `{a}`, because the {c} of another team calls it.",
    "Keep to the style of {f}, and add no new dependency.",
    "It must go on working with {p}, since the servers are not upgraded before the {n}th.",
    "Leave {f} alone, so that the release of this week is not held up.",
    "All of the tests have to pass, {t} above all.",
    "Never write to the {c} in a test: it is shared, so use a temporary one.",
    "Answers must stay below {n} ms, otherwise the {c} gives up.",
)
FOLLOW_UPS = (
    "Good. Now do the same for `{a}`.",
    "That is not what I meant: `{a}` should come before `{b}`, and {f} stays as it is.",
    "It still fails here, with {n} errors in {f}.",
    "Why did you not use `{a}` for the {c}?",
    "Run {t} again and show me what it says.",
    "Go on with the next step.",
    "Stop after {f}; I will look at the {c} myself tomorrow.",
    "Please also think of the case that `{a}` is called {n} times in a row.",
)
SHORT_ASKS = (
    "Go on.",
    "Yes.",
    "No, the other one.",
    "And {t}?",
    "Run it again.",
    "`{a}`, please.",
    "Good, go on.",
    "Why `{b}`?",
    "Try it.",
    "And {f}?",
)
SHORT = ("Done.", "That works.", "See {f}.", "`{a}` it is.", "Both pass.", "No change there.", "Only {t} is left.")
SHORT_INTENTS = (
    "Let me see {f}.",
    "I'll run {t}.",
    "Now let me check `{a}`.",
    "Next, `{b}`.",
    "Let me look at the {c}.",
)
REMARKS = (
    "The {c} reads its settings in {f}, where `{a}` is called before `{b}` is ready.",
    "`{a}` in {f} has {n} callers, and all but one of them pass a list.",
    "That leaves {t}, which has nothing to do with the {c}.",
    "In {f} there are {n} places where `{a}` can return nothing.",
    "The tests of the {c} pass with {p}.",
    "`{b}` wraps `{a}` and swallows what it raises, so the log shows only the last {n} lines.",
    "So far {f} and the {c} agree about the order of entries.",
    "The change is in: `{a}` takes the limit as an argument, and {f} passes {n}.",
    "I see that {t} builds its own {c} and never closes it.",
    "There is a second copy of `{a}` in {f}, from before the {c} was split.",
    "The output ends after {n} entries, which is the size of one page in {f}.",
    "Both `{a}` and `{b}` are covered now.",
)
INTENTS = (
    "Let me look at {f} first.",
    "Next, I will run {t} to see whether `{a}` is what breaks.",
    "I'll search for the callers of `{a}` in the {c}.",
    "Now let me change `{a}` in {f}.",
    "I need to check how {f} makes its {c}.",
    "Let me run the tests of the {c} again.",
    "Then I update the docs, and {t} is the last one that remains.",
)
CHOICES = (
    "I decided to keep `{a}` in {f}",
    "We should pass the limit to `{a}` instead of reading it in {f}",
    "I'll use a queue for the {c} rather than a lock",
    "The best fix is to call `{b}` before `{a}`",
    "I chose to leave {f} as it is",
    "Let's switch to {p} for the {c}",
    "I am going with one table for `{a}` and `{b}`",
    "We should not cache what `{a}` returns",
    "The simplest way is to sort the entries in {f}",
    "I prefer a small helper beside `{a}`",
)
REASONS = (
    "because `{b}` is called {n} times for each request",
    "since the {c} closes its connection after {n} seconds",
    "so that {t} does not depend on the order of files",
    "to avoid a second pass over the {c}",
    "because {f} is read by two processes at once",
    "otherwise `{b}` sees a half-written {c}",
    "since {p} no longer has the old call",
    "to keep the {c} usable without a network",
)
CAUSES = (
    "The root cause is that `{a}` in {f} counts the header as one of the {n} entries.",
    "It turns out that the {c} is made twice, once by `{a}` and once by `{b}`.",
    "This fails because `{b}` was renamed in {f} and {t} still patches the old name.",
)
TASKS = (
    "Find out where the {c} loses entries",
    "Change `{a}` in {f}",
    "Write a test for `{b}`",
    "Run the whole test suite",
    "Describe the change in the docs",
    "Remove the second copy of `{a}`",
    "Check the callers of `{b}` in {f}",
    "Make {t} pass",
    "Pass the limit through to the {c}",
    "Look at the log of the {c} for {n} minutes",
)

CODE = {
    "python": (
        "def %s(%s: list[str], limit: int = %d) -> dict[str, int]:",
        "    %s = {item.%s: %d for item in rows}",
        "    if %s is None or len(%s) > %d:",
        '        raise ValueError(f"%s without %s: {rows[%d]!r}")',
        "    for %s in self.%s[:%d]:",
        "        self._%s[%s] += %d",
        "    return %s(%s, retries=%d)",
        "",
        "    # The %s has to be there before the %s, see note %d.",
        "    with self.%s.lock(%s, timeout=%d) as held:",
        '        log.info("%s done", extra={"%s": %d})',
        "    assert %s.%s == %d",
        "from app.%s import %s  # %d",
        "    %s: %s = field(default=%d)",
        "    def %s(self, %s, *, page=%d):",
        "class %s(%s):  # revision %d",
    ),
    "typescript": (
        "export async function %s(%s: string[], limit = %d): Promise<void> {",
        "  const %s = rows.map((r) => r.%s).slice(0, %d);",
        "  if (!%s || %s.length > %d) {",
        "    throw new Error(`%s without %s at line %d`);",
        "  }",
        "",
        "  for (const %s of this.%s.take(%d)) {",
        "    this.%s.set(%s, %d);",
        "  return %s(%s, { retries: %d });",
        "  // The %s has to be there before the %s, see note %d.",
        "  expect(%s.%s).toBe(%d);",
        "}",
        'import { %s } from "../%s"; // %d',
        "  private readonly %s = new Map<string, %s>(); // %d",
        "    logger.info({ %s: %s, page: %d });",
        "  await Promise.all([%s(), %s(%d)]);",
    ),
    "go": (
        "func (s *Store) %s(ctx context.Context, %s []string, limit int) error { // %d",
        "\t%s := make(map[string]%s, %d)",
        "\tif %s == nil || len(%s) > %d {",
        '\t\treturn fmt.Errorf("%s without %s: %d", err)',
        "\t}",
        "",
        "\tfor _, %s := range s.%s[:%d] {",
        "\t\ts.%s[%s] += %d",
        "\treturn s.%s(ctx, %s, %d)",
        "}",
        "\t// The %s has to be there before the %s, see note %d.",
        "\tdefer s.%s.Unlock(%s) // %d",
        "\tassert.Equal(t, %s.%s, %d)",
        "\tcase %s := <-s.%s: // %d",
        "type %s struct { %s *Pool } // %d",
        '\tlog.Info().Str("%s", %s).Int("page", %d).Send()',
    ),
}
"""Lines of code, each with two names and a number or with nothing to fill in."""
