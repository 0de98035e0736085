"""A login that answers 401 for valid credentials: a stale Redis connection, found and mended."""

META = dict(
    format="claude_code",
    project="auth_service",
    title="Login answers 401 although the credentials are valid",
    started="2026-03-02T09:12:00Z",
    workdir="/srv/auth-service",
    author="Dana Kessler <dana@example.org>",
    first_commit="auth-service 3.4.1",
)

POOL = '''import type { RedisPoolOptions } from "../config/redis.ts";
import { RedisConnectionError } from "./errors.ts";
import type { Logger } from "./logger.ts";
import { RedisConnection, type Connect, type Connection } from "./redis-connection.ts";
import type { Reply } from "./resp.ts";
import { isTransient, withRetry } from "./retry.ts";

interface Idle {
  readonly connection: Connection;
  readonly since: number;
}

export interface PoolStats {
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
  readonly created: number;
}

/**
 * A small pool: a command borrows a connection, runs, and gives it back.
 *
 * A borrowed connection is never trusted blindly. One that was idle for too long is closed (the server is about to
 * do the same), one that was idle for a while must answer a PING, and one that failed is thrown away.
 */
export class RedisPool {
  private readonly idle: Idle[] = [];
  private readonly queue: ((connection: Connection | undefined) => void)[] = [];
  private open = 0;
  private created = 0;

  constructor(
    readonly options: RedisPoolOptions,
    private readonly logger: Logger,
    private readonly connect: Connect = RedisConnection.open,
    private readonly now: () => number = Date.now,
  ) {}

  async command(...parts: (string | number)[]): Promise<Reply> {
    return withRetry(() => this.once(parts), this.options.retry, (error, attempt, delayMs) =>
      this.logger.warn("redis.retry", { command: parts[0], attempt, delayMs, error: String(error) }),
    );
  }

  stats(): PoolStats {
    return { open: this.open, idle: this.idle.length, waiting: this.queue.length, created: this.created };
  }

  close(): void {
    for (const entry of this.idle.splice(0)) {
      entry.connection.close();
      this.open -= 1;
    }
  }

  private async once(parts: (string | number)[]): Promise<Reply> {
    const connection = await this.acquire();
    try {
      const reply = await connection.send(parts);
      this.release(connection);
      return reply;
    } catch (error) {
      if (error instanceof RedisConnectionError) {
        this.discard(connection);
      } else {
        this.release(connection);
      }
      this.logger.debug("redis.command_failed", { command: parts[0], connection: connection.id, error: String(error) });
      throw error;
    }
  }

  private async acquire(): Promise<Connection> {
    for (let entry = this.idle.pop(); entry; entry = this.idle.pop()) {
      if (await this.usable(entry)) {
        return entry.connection;
      }
      this.discard(entry.connection);
    }
    if (this.open < this.options.maxConnections) {
      return this.create();
    }
    const handed = await new Promise<Connection | undefined>((resolve) => this.queue.push(resolve));
    return handed ?? this.create();
  }

  private async usable({ connection, since }: Idle): Promise<boolean> {
    const idleMs = this.now() - since;
    if (this.options.idleTimeoutMs > 0 && idleMs >= this.options.idleTimeoutMs) {
      this.logger.debug("redis.idle_too_long", { connection: connection.id, idleMs });
      return false;
    }
    if (idleMs < this.options.validateAfterMs) {
      return true;
    }
    try {
      return (await connection.send(["PING"])) === "PONG";
    } catch (error) {
      this.logger.info("redis.stale_connection", { connection: connection.id, idleMs, error: String(error) });
      return false;
    }
  }

  private async create(): Promise<Connection> {
    this.open += 1;
    try {
      const connection = await this.connect(this.options);
      this.created += 1;
      this.logger.debug("redis.connected", { connection: connection.id, open: this.open });
      return connection;
    } catch (error) {
      this.open -= 1;
      if (isTransient(error)) {
        this.logger.warn("redis.connect_failed", { error: String(error) });
      }
      throw error;
    }
  }

  private discard(connection: Connection): void {
    this.open -= 1;
    connection.close();
    // Somebody may wait for the place that is free now; `undefined` tells them to open a new connection.
    this.queue.shift()?.(undefined);
  }

  private release(connection: Connection): void {
    const next = this.queue.shift();
    if (next) {
      next(connection);
    } else {
      this.idle.push({ connection, since: this.now() });
    }
  }
}
'''

RETRY_FIRST = '''import { RedisConnectionError } from "./errors.ts";

export interface RetryOptions {
  /** How often a failed command is tried again. */
  readonly retries: number;
  /** Pause before the first retry; it doubles with each further one. */
  readonly baseDelayMs: number;
}

/** Worth another try: the connection broke, or the server is a replica for the moment (failover). */
export function isTransient(error: unknown): boolean {
  return error instanceof RedisConnectionError;
}

export async function withRetry<T>(
  run: () => Promise<T>,
  options: RetryOptions,
  onRetry: (error: unknown, attempt: number, delayMs: number) => void,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isTransient(error) || attempt > options.retries) {
        throw error;
      }
      const delayMs = options.baseDelayMs * 2 ** (attempt - 1);
      onRetry(error, attempt, delayMs);
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}
'''

STALE_TEST = '''
describe("pool and a server that closes connections", () => {
  const started = async (t: TestContext, idleTimeoutMs: number, pool: Partial<RedisPoolOptions> = {}) => {
    const server = await RespServer.start({ idleTimeoutMs });
    const h = await harness({ port: server.port, pool });
    t.after(async () => {
      h.redis.close();
      await server.stop();
    });
    return { server, h };
  };

  test("login works after the server closed the idle connection", async (t) => {
    const { server, h } = await started(t, 60, { validateAfterMs: 20 });
    await h.login();
    await sleep(200);
    assert.equal(server.closedIdle, 1);
    await h.login();
    assert.deepEqual(h.redis.stats(), { open: 1, idle: 1, waiting: 0, created: 2 });
  });

  test("a command is tried again when the connection breaks under it", async (t) => {
    const { server, h } = await started(t, 0);
    await h.login();
    server.dropClients();
    await h.login();
    assert.equal(h.redis.stats().open, 1);
  });
});
'''


def rewrite(s, path, *pairs):
    """Write the file anew with the replacements made (as an agent does that writes the whole file)."""
    text = (s.workdir / path).read_text()
    for old, new in pairs:
        assert text.count(old) == 1, (path, old)
        text = text.replace(old, new)
    return s.write(path, text)


def script(s):
    s.user(
        "Since Thursday we get support calls: customers type the right password and POST /api/auth/login answers 401 "
        "`invalid_credentials`. A second attempt often fails as well, then after a restart of the replica everything is "
        "fine for some hours. Password reset does not help them. Please find the cause and fix it.\n\n"
        "Rules for this repo: no new runtime packages (only devDependencies exist and it stays that way). The method "
        "signatures of SessionService are used by the back-office job, do not change them. And a wrong password must "
        "answer exactly what it answers today, status and body.\n\nThere is scripts/repro-login.ts which Jonas wrote on "
        "Friday, I don't know whether it shows the same thing."
    )
    s.think(
        "401 for valid credentials. Candidates: password check, JWT generation, session creation, clock. A restart heals it, "
        "which points at state held in the process: connections, caches, rate-limit windows. Look at the layout first."
    )
    s.say("I'll get an overview of the repo first, then follow the login request from the route to the last thing it touches.")
    s.parallel(lambda: [
        s.ls(),
        s.read("package.json"),
        s.read("README.md"),
        s.bash("node -v && npm ls --depth 0 && git log --oneline"),
    ])
    s.say("Now the controller, which is where the 401 is made.")
    s.parallel(lambda: [
        s.read("src/controllers/auth.controller.ts"),
        s.read("src/app.ts"),
        s.read("src/http/router.ts"),
        s.read("src/http/types.ts"),
        s.read("src/http/body.ts"),
        s.read("src/server.ts"),
    ])
    s.think(
        "login: `if (!user || !session)` gives the same 401 invalid_credentials for two different things. So a failing "
        "session store looks like a wrong password."
    )
    s.say(
        "This is already a lead: `login` answers 401 `invalid_credentials` in **two** cases, when `authenticate` finds no user "
        "and when `sessions.create` returns null. The client cannot tell them apart, and neither can support. "
        "Let me write down the plan and then check each part that could fail."
    )
    s.parallel(lambda: [
        s.todo([
        ("Reproduce the 401 with valid credentials", "in_progress"),
        ("Find which part of login fails (password, token, session)", "pending"),
        ("Fix the cause", "pending"),
        ("Add tests that fail without the fix", "pending"),
        ("Run the whole suite and the type check", "pending"),
    ]),
        s.read("src/services/session.service.ts"),
        s.read("src/services/token.service.ts"),
        s.read("src/services/user.service.ts"),
    ])
    s.say("`create` swallows every error and logs it at debug level only, so production logs (info) show nothing. The suite before I change anything:")
    s.parallel(lambda: [
        s.bash("npm test"),
        s.read("tests/auth.test.ts"),
        s.read("tests/support/harness.ts"),
    ])
    s.say("All 14 pass, so the suite does not cover the failure. Now Jonas's script.")
    s.parallel(lambda: [
        s.read("scripts/repro-login.ts"),
        s.bash("npm run repro"),
    ])
    s.say("The script says what the service sees. I want to see what the sockets do as well, so that I don't blame the wrong side.")
    s.bash("NODE_DEBUG=net,stream npm run -s repro 2>&1 | sed -E 's/^(NET|STREAM) [0-9]+/\\1/' | head -n 420")
    s.say(
        "Reproduced. Login 1 answers 200. The server then closes the idle client; the pool still believes it has one open, idle "
        "connection. Logins 2 and 3 borrow that dead connection, `SET` fails with `This socket has been ended by the other party`, "
        "`session.create_failed` is logged at debug, and the customer sees 401.\n\nBefore I settle on that, I want to rule out the "
        "password check and the JWT generation with the same user."
    )
    s.parallel(lambda: [
        s.write("scripts/check-parts.ts", '''/** Checks password and token on their own, without Redis. */
import { EMAIL, PASSWORD } from "../tests/support/harness.ts";
import { TokenService } from "../src/services/token.service.ts";
import { UserService } from "../src/services/user.service.ts";

const users = new UserService();
await users.add({ id: "u-1", email: EMAIL, name: "Mira", password: PASSWORD });
for (let i = 0; i < 200; i += 1) {
  const user = await users.authenticate(i % 2 ? EMAIL : EMAIL.toUpperCase(), PASSWORD);
  const tokens = new TokenService("secret", 900);
  const claims = user && tokens.verify(tokens.issue(user.id, `s-${i}`));
  if (!claims || claims.sid !== `s-${i}`) {
    throw new Error(`round ${i}: user=${user?.id} claims=${JSON.stringify(claims)}`);
  }
}
console.log("200 rounds: password accepted, token issued and verified each time");
'''),
        s.bash("npx tsx scripts/check-parts.ts"),
    ])
    s.say("Password and JWT are fine 200 times out of 200. That leaves the session store. Now down the stack: pool, connection, configuration.")
    s.bash("rm scripts/check-parts.ts && git status --short")
    s.parallel(lambda: [
        s.read("src/lib/redis-pool.ts"),
        s.read("src/config/redis.ts"),
        s.read("src/lib/redis-connection.ts"),
    ])
    s.parallel(lambda: [
        s.read("src/lib/resp.ts"),
        s.read("src/lib/errors.ts"),
        s.read("src/lib/logger.ts"),
        s.read("src/lib/password.ts"),
    ])
    s.say("And the stand-in for Redis: I have to be sure that it closes idle clients the way the real one does, otherwise I chase an artefact.")
    s.read("tests/support/resp-server.ts")
    s.think(
        "Pool: release() in the error path puts the broken connection back to idle. acquire pops LIFO, so the dead one is used "
        "again and again. idleTimeoutMs is declared, set to 0, and never read. keepAlive false. maxConnections 32."
    )
    s.parallel(lambda: [
        s.grep("idleTimeoutMs|keepAlive|maxConnections|commandTimeoutMs|connectTimeoutMs", "."),
        s.read("docs/runbook.md"),
    ])
    s.say(
        "Root cause, with the pieces together:\n\n"
        "1. `config/redis.ts` sets `idleTimeoutMs: 0` and `keepAlive: false`: connections are kept for ever. The runbook says "
        "production Redis has `timeout 300`, so the server closes each one after five quiet minutes. `idleTimeoutMs` is also never "
        "read by the pool, it only exists in the options.\n"
        "2. `RedisPool.command` gives a connection back to the idle list **also when the command failed**. The list is a stack, so "
        "the dead connection is on top and is used for every following login until a restart.\n"
        "3. `SessionService.create` turns the error into null and the controller turns null into 401.\n\n"
        "JWT generation is not involved: the token is only issued after the session was stored.\n\n"
        "One more thing in the same file: `maxConnections: 32` with three replicas is 96, the runbook's budget for this service is "
        "24 (8 per replica)."
    )
    s.user(
        "That fits: the platform team switched `timeout 300` on last Thursday. It stays, we can't change it there.\n\n"
        "Another thing, maybe the same cause: people of the admin front end (https://admin.example.test) say login does not "
        "work in the browser at all, with curl it does. Can you look whether that is related before you fix anything? We set "
        "CORS_ORIGINS to \"https://shop.example.test, https://admin.example.test\"."
    )
    s.say("\"curl works, the browser does not\" sounds like cross-origin rules rather than Redis. I'll look at the middleware and at how the variable is read.")
    s.parallel(lambda: [
        s.read("src/middleware/cors.ts"),
        s.read("src/config/env.ts"),
        s.read("tests/cors.test.ts"),
        s.write("scripts/check-cors.ts", '''import { loadEnv } from "../src/config/env.ts";
import { json } from "../src/http/types.ts";
import { cors } from "../src/middleware/cors.ts";

const { corsOrigins } = loadEnv({ CORS_ORIGINS: "https://shop.example.test, https://admin.example.test" });
console.log("allowed:", JSON.stringify(corsOrigins));
for (const origin of ["https://shop.example.test", "https://admin.example.test", "https://evil.example.test"]) {
  const request = { method: "POST", path: "/", headers: { origin }, remoteAddress: "192.0.2.1", body: undefined };
  const { headers } = await cors(corsOrigins)(request, async () => json(200, {}));
  console.log(origin, JSON.stringify(headers, null, 1));
}
'''),
        s.bash("npx tsx scripts/check-cors.ts"),
    ])
    s.say(
        "Not the same cause, but a real misconfiguration. Two faults:\n\n"
        "- `CORS_ORIGINS` is split at the comma and not trimmed, so the second entry is `\" https://admin.example.test\"` with a "
        "leading blank and never matches.\n"
        "- An origin that is not in the list gets `access-control-allow-origin: *` **together with** "
        "`access-control-allow-credentials: true`. Browsers reject that pair, which is what the admin people see. It also hands "
        "the public policy to everybody (`https://evil.example.test` above).\n\n"
        "There is no `vary: origin` either, a shared cache could mix the answers up. How far do you want me to go here?"
    )
    s.user(
        "Good find. Fix it in this session but as a commit of its own, before the Redis work so it can go out today: trim the "
        "list, no headers at all for unknown origins, and add vary. Leave the allowed methods alone, PUT and DELETE are not "
        "for this release.\n\nAnd please work on a branch, fix/stale-redis. main is protected."
    )
    s.parallel(lambda: [
        s.todo([
        ("Reproduce the 401 with valid credentials", "completed"),
        ("Find which part of login fails (password, token, session)", "completed"),
        ("CORS: trim origins, no headers for unknown ones, vary; own commit", "in_progress"),
        ("Fix the pool configuration and the handling of broken connections", "pending"),
        ("Retry transient connection failures", "pending"),
        ("Answer 503 instead of 401 when the session cannot be stored (ask first)", "pending"),
        ("Add tests that fail without the fix", "pending"),
        ("Run the whole suite and the type check", "pending"),
    ]),
        s.bash("rm scripts/check-cors.ts && git checkout -q -b fix/stale-redis && git status -sb"),
    ])
    s.parallel(lambda: [
        rewrite(s, 'src/config/env.ts', ('corsOrigins: (source.CORS_ORIGINS ?? "http://localhost:5173").split(","),', 'corsOrigins: list(source.CORS_ORIGINS ?? "http://localhost:5173"),'), ("export function loadEnv(", '''/** A comma-separated list; blanks around the entries and empty entries do not count. */
function list(raw: string): string[] {
  return raw
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

export function loadEnv(''')),
        rewrite(s, 'src/middleware/cors.ts', ('''  const origin = request.headers.origin;
  if (!origin) {
    return {};
  }
  return {
    "access-control-allow-origin": allowed.includes(origin) ? origin : "*",''', '''  const origin = request.headers.origin;
  if (!origin || !allowed.includes(origin)) {
    return { vary: "origin" };
  }
  return {
    vary: "origin",
    "access-control-allow-origin": origin,'''), ("/** Cross-origin rules: our front ends may send credentials, everybody else gets the public policy. */", "/** Cross-origin rules: our front ends may send credentials, everybody else gets no cross-origin headers. */")),
    ])
    s.say("The number of tests should not explode for this; I widen the existing first test so that it covers the list with the blank and the unknown origin.")
    s.parallel(lambda: [
        s.edit("tests/cors.test.ts", '''test("an allowed origin gets its own name back", async () => {
  const response = await cors(["https://shop.example.test"])(request("POST", { origin: "https://shop.example.test" }), ok);
  assert.equal(response.headers["access-control-allow-origin"], "https://shop.example.test");
  assert.equal(response.headers["access-control-allow-credentials"], "true");
});''', '''test("an allowed origin gets its own name back, an unknown one gets nothing", async () => {
  const { corsOrigins } = loadEnv({ CORS_ORIGINS: "https://shop.example.test, https://admin.example.test," });
  for (const origin of ["https://shop.example.test", "https://admin.example.test"]) {
    const response = await cors(corsOrigins)(request("POST", { origin }), ok);
    assert.equal(response.headers["access-control-allow-origin"], origin);
    assert.equal(response.headers["access-control-allow-credentials"], "true");
  }
  const unknown = await cors(corsOrigins)(request("POST", { origin: "https://evil.example.test" }), ok);
  assert.equal(unknown.headers["access-control-allow-origin"], undefined);
  assert.equal(unknown.headers["access-control-allow-credentials"], undefined);
  assert.equal(unknown.headers.vary, "origin");
});'''),
        s.bash("node --import tsx --test tests/cors.test.ts"),
    ])
    s.bash("npm run typecheck")
    s.say("The type check fails, in a file I have not touched. Let me see whether main has that too.")
    s.bash("git stash -q && npm run typecheck; git stash pop && npm ls typescript @types/node")
    s.read("src/lib/resp.ts", 1, 32)
    s.say(
        "It is on main as well: since the newer `@types/node` a `Buffer` carries the type of its memory, and the field's inferred "
        "type is narrower than what `push` assigns. One explicit annotation settles it. I make it a separate commit, since it has "
        "nothing to do with CORS."
    )
    s.parallel(lambda: [
        s.edit("src/lib/resp.ts", "private buffer = Buffer.alloc(0);", "private buffer: Buffer = Buffer.alloc(0);"),
        s.bash("npm run typecheck && git add src/lib/resp.ts && git commit -q -m 'Type check with current @types/node' && git add -A && git commit -q -m 'CORS: trim the origins, no headers for unknown ones' && git log --oneline --stat -2"),
    ])
    s.say("Both are committed. Back to Redis. First the cheap idea, to know whether it is enough: only TCP keep-alive and a shorter idle time in the configuration.")
    s.parallel(lambda: [
        s.edit("src/config/redis.ts", "    idleTimeoutMs: 0,\n    keepAlive: false,", "    idleTimeoutMs: 240_000,\n    keepAlive: true,"),
        s.bash("npm run -s repro"),
    ])
    s.say(
        "As expected: no effect. Redis's `timeout` counts commands, not keep-alive probes, and nobody reads `idleTimeoutMs`. So the "
        "pool itself has to learn three things. Let me see who else uses it before I change it."
    )
    s.parallel(lambda: [
        s.grep("RedisPool|redisPoolOptions|Connect\\b", "src tests scripts".split()[0]),
        s.grep("RedisPool|redisPoolOptions|mockConnect|pool:", "tests"),
        s.read("tests/support/harness.ts"),
        s.read("src/app.ts"),
    ])
    s.think(
        "Design. A: a background timer that pings/evicts. B: check at borrow time. A: timers keep running, race between check and use "
        "remains, extra traffic per replica. B: no timer, cost is one PING per borrow after idle. Race remains in both, therefore a "
        "retry on a fresh connection is needed anyway. B + retry."
    )
    s.say(
        "Two ways to keep dead connections out:\n\n"
        "**A. A timer** that looks at idle connections every few seconds and closes or pings them. Borrowing stays cheap, but there is "
        "a timer to stop on shutdown, traffic without users, and between two rounds a dead connection can still be borrowed.\n\n"
        "**B. A check when borrowing**: idle longer than `idleTimeoutMs` means close it; idle longer than `validateAfterMs` means it "
        "must answer PING first. No timer, and the cost is one round trip after a quiet time only.\n\n"
        "I take B. In both the connection can die between check and use, so a retry on a fresh connection is needed in any case, "
        "and with the retry the remaining advantage of A is gone."
    )
    s.parallel(lambda: [
        s.write("src/lib/retry.ts", RETRY_FIRST),
        rewrite(s, 'src/config/redis.ts', ('''  /** Close a connection that was not used for this time; 0 keeps it for ever. */
  readonly idleTimeoutMs: number;''', '''  /** Close a connection that was not used for this time; 0 keeps it for ever. Must stay below the server's `timeout`. */
  readonly idleTimeoutMs: number;
  /** A connection that was not used for this time must answer a PING before it is used. */
  readonly validateAfterMs: number;
  readonly retry: RetryOptions;'''), ('import type { Env } from "./env.ts";', 'import type { RetryOptions } from "../lib/retry.ts";\nimport type { Env } from "./env.ts";'), ('''    idleTimeoutMs: 240_000,
    keepAlive: true,''', '''    idleTimeoutMs: 240_000,
    validateAfterMs: 15_000,
    retry: { retries: 5, baseDelayMs: 100 },
    keepAlive: true,'''), ("    maxConnections: 32,", "    maxConnections: 8,"), (''' * Opening a connection costs a TLS handshake in production, so connections are never given back.''', ''' * Production Redis closes a client after 300 s without a command (docs/runbook.md), so we let go of ours after 240 s.
 * Three replicas share a budget of 24 connections, hence 8.''')),
    ])
    s.say("Now the pool. A failed connection must not go back into the idle list:")
    s.edit("src/lib/redis-pool.ts", "      this.release(connection);", "      this.discard(connection);")
    s.say("That line is there twice (success and failure). Since most of the class changes, I write the file in one go instead.")
    s.parallel(lambda: [
        s.write("src/lib/redis-pool.ts", POOL),
        s.bash("npm run typecheck"),
    ])
    s.bash("npm run -s repro; echo; npm run -s repro -- 20000 100")
    s.bash("NODE_DEBUG=net,stream npm run -s repro 2>&1 | sed -E 's/^(NET|STREAM) [0-9]+/\\1/' | head -n 420")
    s.say(
        "The repro script now gives 200 three times: `SET` fails on the dead connection, that one is thrown away, and the retry "
        "runs on a new one. (15 s for the PING check is longer than the script's pause, so here it is the retry that helps.)"
    )
    s.todo([
        ("CORS: trim origins, no headers for unknown ones, vary; own commit", "completed"),
        ("Fix the pool configuration and the handling of broken connections", "completed"),
        ("Retry transient connection failures", "in_progress"),
        ("Answer 503 instead of 401 when the session cannot be stored (ask first)", "pending"),
        ("Add tests that fail without the fix", "pending"),
        ("Run the whole suite and the type check", "pending"),
    ])
    s.say(
        "Two questions before I go on:\n\n"
        "1. Retries: I have 5 with 100 ms doubling, together 3.1 s, which would ride out most of a failover (2 to 4 s by the "
        "runbook). Is that much waiting fine for a login?\n"
        "2. When the session cannot be stored at all, login still says 401. I would answer 503 `session_store_unavailable`: the "
        "runbook reserves 503 for a dependency that is down, and the load balancer retries it once on another replica. `create` "
        "keeps its signature, the controller can tell by \"user found, session null\"."
    )
    s.user(
        "1. No, too long, the front end gives up after 2 s. Two retries, and the whole thing incl. the pauses must stay below one "
        "second. Also READONLY during a failover should count as transient, your comment says so but I think the code does not do "
        "it.\n2. Yes, 503 with that body. But log it at error level, we want an alert on it. And the password check must come "
        "first as today, no session is made for a wrong password."
    )
    s.think(
        "The person is right: isTransient only looks at RedisConnectionError. READONLY is a RedisReplyError. Also LOADING. Budget: "
        "add deadline option budgetMs: 900. commandTimeoutMs 2000 alone exceeds 1 s! Need per-command timeout down: 300 ms? "
        "connectTimeout 1000 also. With 2 retries: 3 attempts. The budget must bound the attempts: do not start another when the "
        "budget is used; and the command timeout must be <= e.g. 400."
    )
    s.say(
        "You are right about READONLY, the comment promised more than the code: it arrives as a `RedisReplyError`. And the budget has "
        "a consequence I had missed: `commandTimeoutMs: 2000` and `connectTimeoutMs: 1000` alone are above one second, so a server that "
        "does not answer would break the limit without any retry. I lower both and give the retry a deadline."
    )
    s.parallel(lambda: [
        rewrite(s, 'src/lib/retry.ts', ('''/** Worth another try: the connection broke, or the server is a replica for the moment (failover). */
export function isTransient(error: unknown): boolean {
  return error instanceof RedisConnectionError;
}''', '''/** Worth another try: the connection broke, or the server is a replica or still loading (failover). */
export function isTransient(error: unknown): boolean {
  if (error instanceof RedisReplyError) {
    return error.message.startsWith("READONLY") || error.message.startsWith("LOADING");
  }
  return error instanceof RedisConnectionError;
}'''), ('import { RedisConnectionError } from "./errors.ts";', 'import { RedisConnectionError, RedisReplyError } from "./errors.ts";'), ('''  readonly baseDelayMs: number;
}''', '''  readonly baseDelayMs: number;
  /** No further try is begun when it could end after this time, counted from the first one. */
  readonly budgetMs: number;
}'''), ('''  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isTransient(error) || attempt > options.retries) {
        throw error;
      }
      const delayMs = options.baseDelayMs * 2 ** (attempt - 1);''', '''  const begun = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      const delayMs = options.baseDelayMs * 2 ** (attempt - 1);
      const spent = performance.now() - begun + delayMs;
      if (!isTransient(error) || attempt > options.retries || spent >= options.budgetMs) {
        throw error;
      }''')),
        rewrite(s, 'src/config/redis.ts', ("retry: { retries: 5, baseDelayMs: 100 },", "retry: { retries: 2, baseDelayMs: 50, budgetMs: 600 },"), ("    connectTimeoutMs: 1000,\n    commandTimeoutMs: 2000,", "    connectTimeoutMs: 300,\n    commandTimeoutMs: 300,")),
        s.read("src/lib/retry.ts"),
        s.read("src/config/redis.ts"),
    ])
    s.say(
        "The worst case: a try may begin up to 600 ms after the first, and takes at most 300 ms, so 900 ms per command. A borrowed "
        "connection that was idle may need 300 ms for a PING that is never answered; the pool throws it away, and that counts into "
        "the first try. Let me measure with a server that accepts and never answers rather than trust the arithmetic."
    )
    s.parallel(lambda: [
        s.write("scripts/measure-silent.ts", '''import net from "node:net";
import { harness, EMAIL, PASSWORD } from "../tests/support/harness.ts";

const silentServer = net.createServer(() => undefined);
await new Promise<void>((resolve) => silentServer.listen(0, "127.0.0.1", resolve));
const h = await harness({ port: (silentServer.address() as net.AddressInfo).port });
for (let i = 1; i <= 3; i += 1) {
  const begun = performance.now();
  const response = await h.call("POST", "/api/auth/login", { body: { email: EMAIL, password: PASSWORD } });
  console.log(`login ${i}: ${response.status} ${JSON.stringify(response.body)} below one second: ${performance.now() - begun < 1000}`);
}
console.log(h.redis.stats());
process.exit(0);
'''),
        s.bash("npx tsx scripts/measure-silent.ts"),
    ])
    s.parallel(lambda: [s.read("src/controllers/auth.controller.ts"), s.read("src/services/session.service.ts"), s.read("src/lib/redis-pool.ts")])
    s.say("Below one second in each case, and the pool is empty afterwards. It still says 401, that is the next step: the controller.")
    s.parallel(lambda: [
        s.edit("src/controllers/auth.controller.ts", '''    const session = user && (await this.sessions.create(user.id, request.headers["user-agent"] ?? ""));
    if (!user || !session) {
      this.logger.info("auth.login_rejected", { email });
      return json(401, { error: "invalid_credentials" });
    }''', '''    if (!user) {
      this.logger.info("auth.login_rejected", { email });
      return json(401, { error: "invalid_credentials" });
    }
    const session = await this.sessions.create(user.id, request.headers["user-agent"] ?? "");
    if (!session) {
      this.logger.error("auth.session_store_unavailable", { userId: user.id });
      return json(503, { error: "session_store_unavailable" });
    }'''),
        s.edit("src/services/session.service.ts", 'this.logger.debug("session.create_failed", { userId, error: String(error) });', 'this.logger.warn("session.create_failed", { userId, error: String(error) });'),
        s.bash("npx tsx scripts/measure-silent.ts; rm scripts/measure-silent.ts; npm run typecheck"),
    ])
    s.bash("git diff --stat main && git diff main -- src")
    s.say("503 with the agreed body. Now the tests: one for the stale connection, one for a connection that breaks under a command.")
    s.parallel(lambda: [
        s.read("tests/redis.test.ts"),
        rewrite(s, 'tests/redis.test.ts', ('''import { redisPoolOptions } from "../src/config/redis.ts";''', '''import { redisPoolOptions, type RedisPoolOptions } from "../src/config/redis.ts";'''), ('''import { RespServer } from "./support/resp-server.ts";''', '''import { harness, sleep } from "./support/harness.ts";
import { RespServer } from "./support/resp-server.ts";'''), ('import { after, before, describe, test } from "node:test";', 'import { after, before, describe, test, type TestContext } from "node:test";')),
        s.bash("cat >> tests/redis.test.ts <<'EOF'" + STALE_TEST + "EOF\ntail -n 34 tests/redis.test.ts"),
    ])
    s.bash("node --import tsx --test tests/redis.test.ts")
    s.say("Both new tests pass. They must fail without the fix, or they prove nothing; I run them against the old pool.")
    s.bash("git stash push -q src/lib/redis-pool.ts src/controllers && node --import tsx --test tests/redis.test.ts; git stash pop -q && git status --short")
    s.read("tests/auth.test.ts")
    s.say("Good: both fail with `login answered 401` on the old pool. Now the whole suite.")
    s.bash("npm test")
    s.think(
        "16 tests, 14 pass, 2 fail: both in 'auth with a mocked clock'. Is it my pool or the mock? The mock: clock jumps by 10/20 min → "
        "idle > 240 s → discard → new MockConnection with its own empty data. Real Redis keeps data across connections."
    )
    s.say(
        "16 tests: **14 pass, 2 fail**, both in \"auth with a mocked clock\": `refresh extends the session by another full period` and "
        "`a token stays usable until it expires`. Both move the clock by minutes between requests, so the pool lets go of its connection now. "
        "The question is whether that shows a fault in the pool or in the mock."
    )
    s.parallel(lambda: [
        s.read("tests/support/mock-redis.ts"),
        s.bash("node --import tsx --test tests/auth.test.ts"),
    ])
    s.bash("git stash push -q src/lib/redis-pool.ts && node --import tsx --test tests/auth.test.ts; git stash pop -q; git status --short")
    s.say(
        "The mock. Each `MockConnection` has its own data, and `close()` clears it. That was never noticed because the old pool kept one "
        "connection for ever. A Redis server keeps its data when a client reconnects. Also it does not know PING. I mend the "
        "mock set-up: one store per `mockConnect`, shared by its connections. The tests themselves stay as they are; I would "
        "not want to raise `idleTimeoutMs` for them only to get them green."
    )
    s.parallel(lambda: [
        rewrite(s, 'tests/support/mock-redis.ts', ('''/** In-memory connection for tests that need a clock of their own. Each connection has its own data. */
class MockConnection implements Connection {
  private readonly data = new Map<string, { value: string; expiresAt: number }>();

  constructor(
    readonly id: number,
    private readonly now: () => number,
  ) {}''', '''type Data = Map<string, { value: string; expiresAt: number }>;

/** In-memory connection for tests that need a clock of their own; the data outlives the connection, as in Redis. */
class MockConnection implements Connection {
  private closed = false;

  constructor(
    readonly id: number,
    private readonly data: Data,
    private readonly now: () => number,
  ) {}'''), ('''    switch (name) {
      case "SET":''', '''    switch (name) {
      case "PING":
        return "PONG";
      case "SET":'''), ('''    this.data.clear();
  }''', '''    this.closed = true;
  }'''), ('''  return async () => new MockConnection((count += 1), now);''', '''  const data: Data = new Map();
  return async () => new MockConnection((count += 1), data, now);''')),
        s.bash("npm test"),
    ])
    s.say("All 16 pass. The type check once more, since I have touched test support.")
    s.bash("npm run typecheck")
    s.say("`closed` is set and never read. A mock that answers after `close()` would hide a fault in the pool, so I use it instead of removing it.")
    s.parallel(lambda: [
        rewrite(s, 'tests/support/mock-redis.ts', ('''    const [name, key, ...rest] = parts.map(String);''', '''    if (this.closed) {
      throw new RedisConnectionError("the mock connection was closed", "ECONNCLOSED");
    }
    const [name, key, ...rest] = parts.map(String);'''), ('''import { RedisReplyError } from''', '''import { RedisConnectionError, RedisReplyError } from''')),
        s.bash("npm run typecheck && npm test 2>&1 | tail -n 12"),
    ])
    s.todo([
        ("CORS: trim origins, no headers for unknown ones, vary; own commit", "completed"),
        ("Fix the pool configuration and the handling of broken connections", "completed"),
        ("Retry transient connection failures", "completed"),
        ("Answer 503 instead of 401 when the session cannot be stored", "completed"),
        ("Add tests that fail without the fix", "completed"),
        ("Run the whole suite and the type check", "completed"),
        ("Check that the new tests are not flaky", "in_progress"),
        ("Update the runbook", "pending"),
    ])
    s.say("The stale test sleeps for 200 ms with a server timeout of 60 ms; timing tests can be flaky on a busy machine. Ten runs:")
    s.bash("for i in 1 2 3 4 5 6 7 8 9 10; do node --import tsx --test --test-reporter=spec tests/redis.test.ts; done")
    s.bash("git diff")
    s.parallel(lambda: [
        s.bash("git diff --stat && git diff -- src/lib src/services src/controllers"),
        s.bash("node --import tsx --test --test-reporter=spec tests/*.test.ts"),
    ])
    s.bash("git diff -- tests src/config && cat src/lib/retry.ts")
    s.user(
        "Looks good to me. Does a retry of SADD or SET do harm when the first one did arrive and only the answer was lost? And "
        "what happens with `find` and `touch`, they don't catch errors, right?"
    )
    s.think("SET and SADD idempotent with same session id. DEL/SREM/EXPIRE/GET also. find/touch throw → requireAuth → 500 internal. Check.")
    s.say(
        "First: every command we send is idempotent (`SET` with the same id and value, `SADD`/`SREM` of the same member, `DEL`, `EXPIRE`, `GET`), "
        "so a lost answer does no harm. The only visible effect is that `DEL` may return 0 at the second time, and nobody reads that. Let me "
        "verify that claim against the code, and look at `find` and `touch`."
    )
    s.parallel(lambda: [
        s.grep("redis\\.command\\(", "src"),
        s.grep("sessions\\.(find|touch|end|create)", "src"),
        s.read("src/middleware/require-auth.ts"),
        s.write("scripts/check-down.ts", '''import { createServer } from "../src/app.ts";
import { silent } from "../src/lib/logger.ts";
import { harness } from "../tests/support/harness.ts";
import { RespServer } from "../tests/support/resp-server.ts";
import type { AddressInfo } from "node:net";

const redis = await RespServer.start();
const h = await harness({ port: redis.port });
const token = await h.login();
const server = createServer(h.app, silent).listen(0);
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const ask = async (method: string, path: string) => {
  const response = await fetch(base + path, { method, headers: { authorization: `Bearer ${token}` } });
  console.log(method, path, response.status, await response.text());
};
await ask("GET", "/api/auth/me");
await redis.stop();
console.log("-- redis is down");
await ask("GET", "/api/auth/me");
await ask("POST", "/api/auth/refresh");
await ask("POST", "/api/auth/logout");
process.exit(0);
'''),
        s.bash("npx tsx scripts/check-down.ts"),
    ])
    s.say(
        "You are right: with Redis down `me`, `refresh` and `logout` answer **500 internal**, since `find`/`touch` let the error through. That is "
        "not new, but by the runbook it should be 503, and the load balancer does not retry a 500. Smallest change without touching "
        "SessionService: map the connection error to 503 where unexpected errors are handled, in `app.ts`. Shall I?"
    )
    s.user("Yes, same body as login. Then commit, update the runbook in the same commit, and we are done for today. Don't push, I do that after the review.")
    s.parallel(lambda: [
        rewrite(s, 'src/app.ts', ('''    logger.error("http.unexpected", { path, error: String(error) });''', '''    if (isTransient(error)) {
      logger.error("auth.session_store_unavailable", { path, error: String(error) });
      return json(503, { error: "session_store_unavailable" });
    }
    logger.error("http.unexpected", { path, error: String(error) });'''), ('''import type { RedisPool } from "./lib/redis-pool.ts";''', '''import type { RedisPool } from "./lib/redis-pool.ts";
import { isTransient } from "./lib/retry.ts";''')),
        s.bash("npx tsx scripts/check-down.ts; rm scripts/check-down.ts"),
    ])
    s.parallel(lambda: [
        s.edit("docs/runbook.md", '''* A failover takes 2 to 4 seconds.''', '''* auth-service lets go of a connection after 240 s without a command and checks one with PING after 15 s. Whoever lowers
  `timeout` on the server must lower `idleTimeoutMs` in `src/config/redis.ts` too, it has to stay below.
* A command that fails for a transient reason (connection lost, READONLY, LOADING) is tried up to two more times, below
  one second in all. After that the service answers 503 `session_store_unavailable` and logs
  `auth.session_store_unavailable` at error level: alert on it.
* A failover takes 2 to 4 seconds.'''),
        s.read("docs/runbook.md"),
        s.bash("npm run typecheck && npm test"),
    ])
    s.bash("npm run -s repro && NODE_DEBUG=net npm run -s repro -- 400 100 2>&1 | sed -E 's/^NET [0-9]+/NET/' | grep -E 'destroy|close|connect|login|=>'")
    s.say("Last look over the files as they will be committed.")
    s.parallel(lambda: [
        s.read("src/app.ts"),
        s.read("src/controllers/auth.controller.ts"),
    ])
    s.read("src/middleware/rate-limit.ts")
    s.think("Rate limit counts 503 attempts too: a customer retrying during an outage gets 429 for 15 min. Not asked; report as open.")
    s.bash("git add -A && git commit -q -m 'Redis pool: drop stale connections, retry transient failures, 503 when the store is down' && git log --oneline --stat -3 && git status -sb")
    s.parallel(lambda: [
        s.bash("git show HEAD --format='%h %an %s' -- src/lib"),
        s.bash("git show HEAD --format='%h %an %s' -- src/config src/controllers src/services src/app.ts docs"),
    ])
    s.bash("git show HEAD~1 --format='%h %an %s'; git show HEAD~2 --format='%h %an %s'")
    s.todo([
        ("CORS: trim origins, no headers for unknown ones, vary; own commit", "completed"),
        ("Fix the pool configuration and the handling of broken connections", "completed"),
        ("Retry transient connection failures", "completed"),
        ("Answer 503 instead of 401 when the session cannot be stored", "completed"),
        ("Add tests that fail without the fix", "completed"),
        ("Check that the new tests are not flaky", "completed"),
        ("Update the runbook", "completed"),
        ("Rate limit: do not count attempts that end in 503 (open, needs a decision)", "pending"),
        ("Pool metrics for the dashboard (open)", "pending"),
    ])
    s.say(
        "Done, three commits on `fix/stale-redis`, nothing pushed.\n\n"
        "**Cause**: the pool kept connections for ever and gave broken ones back to its idle list; since Redis closes idle clients after "
        "300 s, `SessionService.create` failed and the controller reported that as 401.\n\n"
        "**Changed**: `config/redis.ts` (8 connections, idle 240 s, PING after 15 s, timeouts 300 ms), `lib/redis-pool.ts`, new `lib/retry.ts` "
        "(two retries, below one second), `auth.controller.ts` and `app.ts` (503 `session_store_unavailable`), `middleware/cors.ts` and `config/env.ts` "
        "(own commit), mock set-up in `tests/support/mock-redis.ts`, runbook. 16 of 16 tests pass; a wrong password answers what it did before.\n\n"
        "**Open, not touched**:\n"
        "- `rateLimit` counts attempts that end in 503 as well: ten tries in an outage lock a customer out for 15 minutes.\n"
        "- There are no metrics of the pool (`stats()` exists, nobody reads it).\n"
        "- The allowed CORS methods, as you asked."
    )
