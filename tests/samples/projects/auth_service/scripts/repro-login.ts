/**
 * Log in twice against a Redis that closes idle clients, with a pause in between.
 * Usage: tsx scripts/repro-login.ts [server idle timeout ms] [pause ms]
 */
import { createLogger } from "../src/lib/logger.ts";
import { EMAIL, harness, PASSWORD, sleep } from "../tests/support/harness.ts";
import { RespServer } from "../tests/support/resp-server.ts";

const idleTimeoutMs = Number(process.argv[2] ?? 150);
const pauseMs = Number(process.argv[3] ?? 400);
const server = await RespServer.start({ idleTimeoutMs });
const logger = createLogger("debug", (line) => console.log(`  ${line.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<uuid>")}`));
const h = await harness({ port: server.port, logger });

for (const attempt of [1, 2, 3]) {
  if (attempt === 2) {
    console.log(`-- pause of ${pauseMs} ms, the server closes idle clients after ${idleTimeoutMs} ms`);
    await sleep(pauseMs);
    console.log(`-- server has closed ${server.closedIdle} client(s); pool believes ${JSON.stringify(h.redis.stats())}`);
  }
  console.log(`login ${attempt}`);
  const response = await h.call("POST", "/api/auth/login", { body: { email: EMAIL, password: PASSWORD } });
  const { token, ...rest } = response.body as { token?: string };
  console.log(`=> ${response.status} ${JSON.stringify({ ...rest, token: token ? "(token)" : undefined })}`);
}
h.redis.close();
await server.stop();
