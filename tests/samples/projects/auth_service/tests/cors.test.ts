import assert from "node:assert/strict";
import { test } from "node:test";
import { loadEnv } from "../src/config/env.ts";
import { json } from "../src/http/types.ts";
import { cors } from "../src/middleware/cors.ts";

const ok = async () => json(200, {});
const request = (method: string, headers: Record<string, string>) => ({
  method,
  path: "/api/auth/login",
  headers,
  remoteAddress: "192.0.2.1",
  body: undefined,
});

test("an allowed origin gets its own name back", async () => {
  const response = await cors(["https://shop.example.test"])(request("POST", { origin: "https://shop.example.test" }), ok);
  assert.equal(response.headers["access-control-allow-origin"], "https://shop.example.test");
  assert.equal(response.headers["access-control-allow-credentials"], "true");
});

test("a request without an origin gets no cross-origin headers", async () => {
  const response = await cors(["https://shop.example.test"])(request("POST", {}), ok);
  assert.equal(response.headers["access-control-allow-origin"], undefined);
});

test("a preflight is answered without reaching the handler", async () => {
  const never = async () => assert.fail("the handler was reached");
  const headers = { origin: "https://shop.example.test", "access-control-request-method": "POST" };
  const response = await cors(loadEnv({ CORS_ORIGINS: "https://shop.example.test" }).corsOrigins)(
    request("OPTIONS", headers),
    never,
  );
  assert.equal(response.status, 204);
  assert.equal(response.headers["access-control-max-age"], "600");
});
