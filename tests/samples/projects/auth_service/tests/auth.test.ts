import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { EMAIL, harness, PASSWORD, type Harness } from "./support/harness.ts";
import { mockConnect } from "./support/mock-redis.ts";
import { RespServer } from "./support/resp-server.ts";

describe("auth over a real socket", () => {
  let server: RespServer;
  let h: Harness;

  before(async () => {
    server = await RespServer.start();
    h = await harness({ port: server.port });
  });

  after(async () => {
    h.redis.close();
    await server.stop();
  });

  test("login answers 200 and a token for valid credentials", async () => {
    const response = await h.call("POST", "/api/auth/login", { body: { email: EMAIL, password: PASSWORD } });
    assert.equal(response.status, 200);
    assert.match((response.body as { token: string }).token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
  });

  test("login answers 401 for a wrong password", async () => {
    const response = await h.call("POST", "/api/auth/login", { body: { email: EMAIL, password: "nope" } });
    assert.equal(response.status, 401);
    assert.deepEqual(response.body, { error: "invalid_credentials" });
  });

  test("login answers 401 for a disabled account", async () => {
    const response = await h.call("POST", "/api/auth/login", { body: { email: "old@example.test", password: PASSWORD } });
    assert.equal(response.status, 401);
  });

  test("login without a password is a bad request", async () => {
    await assert.rejects(h.call("POST", "/api/auth/login", { body: { email: EMAIL } }), { status: 400 });
  });

  test("me answers with the user behind the token", async () => {
    const response = await h.call("GET", "/api/auth/me", { token: await h.login() });
    assert.deepEqual(response.body, { id: "u-1", name: "Mira", email: EMAIL });
  });

  test("logout ends the session", async () => {
    const token = await h.login();
    assert.equal((await h.call("POST", "/api/auth/logout", { token })).status, 204);
    assert.equal((await h.call("GET", "/api/auth/me", { token })).status, 401);
  });
});

describe("auth with a mocked clock", () => {
  test("refresh extends the session by another full period", async () => {
    let clock = 1_750_000_000_000;
    const now = () => clock;
    const h = await harness({ connect: mockConnect(now), now });
    let token = await h.login();
    clock += 20 * 60_000;
    const refreshed = await h.call("POST", "/api/auth/refresh", { token });
    assert.equal(refreshed.status, 200);
    token = (refreshed.body as { token: string }).token;
    clock += 14 * 60_000;
    assert.equal((await h.call("GET", "/api/auth/me", { token })).status, 200);
  });

  test("a token stays usable until it expires, with minutes between the requests", async () => {
    let clock = 1_750_000_000_000;
    const now = () => clock;
    const h = await harness({ connect: mockConnect(now), now });
    const token = await h.login();
    clock += 10 * 60_000;
    assert.equal((await h.call("GET", "/api/auth/me", { token })).status, 200);
    clock += 6 * 60_000;
    assert.equal((await h.call("GET", "/api/auth/me", { token })).status, 401);
  });
});
