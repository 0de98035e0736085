import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { loadEnv } from "../src/config/env.ts";
import { redisPoolOptions } from "../src/config/redis.ts";
import { silent } from "../src/lib/logger.ts";
import { RedisPool } from "../src/lib/redis-pool.ts";
import { ReplyReader } from "../src/lib/resp.ts";
import { RespServer } from "./support/resp-server.ts";

test("a reply that arrives in pieces is put together", () => {
  const reader = new ReplyReader();
  reader.push(Buffer.from("$5\r\nhel"));
  assert.equal(reader.next(), undefined);
  reader.push(Buffer.from("lo\r\n:7\r\n"));
  assert.equal(reader.next(), "hello");
  assert.equal(reader.next(), 7);
});

describe("pool", () => {
  let server: RespServer;
  let pool: RedisPool;

  before(async () => {
    server = await RespServer.start();
    pool = new RedisPool({ ...redisPoolOptions(loadEnv({})), port: server.port, maxConnections: 2 }, silent);
  });

  after(async () => {
    pool.close();
    await server.stop();
  });

  test("commands reuse a connection", async () => {
    await pool.command("SET", "a", "1");
    assert.equal(await pool.command("GET", "a"), "1");
    assert.equal(pool.stats().created, 1);
  });

  test("more commands than connections wait their turn", async () => {
    const replies = await Promise.all(Array.from({ length: 6 }, (_, i) => pool.command("SET", `k${i}`, String(i))));
    assert.deepEqual(replies, Array(6).fill("OK"));
    assert.ok(pool.stats().open <= 2);
  });
});
