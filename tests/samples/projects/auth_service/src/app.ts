import http from "node:http";
import type { Env } from "./config/env.ts";
import { AuthController } from "./controllers/auth.controller.ts";
import { readJson } from "./http/body.ts";
import { guarded, Router } from "./http/router.ts";
import { json, type HttpRequest, type HttpResponse } from "./http/types.ts";
import { HttpError } from "./lib/errors.ts";
import type { Logger } from "./lib/logger.ts";
import type { RedisPool } from "./lib/redis-pool.ts";
import { cors } from "./middleware/cors.ts";
import { rateLimit } from "./middleware/rate-limit.ts";
import { requireAuth } from "./middleware/require-auth.ts";
import { SessionService } from "./services/session.service.ts";
import { TokenService } from "./services/token.service.ts";
import type { UserService } from "./services/user.service.ts";

export interface Parts {
  readonly env: Env;
  readonly users: UserService;
  readonly redis: RedisPool;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** Put the service together; the caller owns the Redis pool and the user store. */
export function createApp({ env, users, redis, logger, now = Date.now }: Parts): Router {
  const sessions = new SessionService(redis, env.sessionTtlSeconds, logger, now);
  const tokens = new TokenService(env.jwtSecret, env.tokenTtlSeconds, now);
  const auth = new AuthController(users, sessions, tokens, logger);
  const signedIn = requireAuth(tokens, sessions);
  return new Router()
    .use(cors(env.corsOrigins))
    .on("GET", "/healthz", async () => json(200, { status: "ok" }))
    .on("POST", "/api/auth/login", guarded(auth.login, rateLimit(10, 15 * 60_000, now)))
    .on("POST", "/api/auth/refresh", auth.refresh)
    .on("POST", "/api/auth/logout", guarded(auth.logout, signedIn))
    .on("GET", "/api/auth/me", guarded(auth.me, signedIn));
}

/** Serve the router over HTTP; an unexpected error becomes a 500 without details. */
export function createServer(router: Router, logger: Logger): http.Server {
  return http.createServer((message, response) => {
    void (async () => {
      const answer = await answerTo(message, router, logger);
      response.writeHead(answer.status, answer.headers);
      response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
    })();
  });
}

async function answerTo(message: http.IncomingMessage, router: Router, logger: Logger): Promise<HttpResponse> {
  const path = new URL(message.url ?? "/", "http://localhost").pathname;
  try {
    const request: HttpRequest = {
      method: message.method ?? "GET",
      path,
      headers: message.headers,
      remoteAddress: message.socket.remoteAddress ?? "unknown",
      body: await readJson(message),
    };
    return await router.handle(request);
  } catch (error) {
    if (error instanceof HttpError) {
      return json(error.status, { error: error.code });
    }
    logger.error("http.unexpected", { path, error: String(error) });
    return json(500, { error: "internal" });
  }
}
