import { createApp } from "../../src/app.ts";
import { loadEnv, type Env } from "../../src/config/env.ts";
import { redisPoolOptions, type RedisPoolOptions } from "../../src/config/redis.ts";
import type { Router } from "../../src/http/router.ts";
import type { HttpResponse } from "../../src/http/types.ts";
import { silent, type Logger } from "../../src/lib/logger.ts";
import type { Connect } from "../../src/lib/redis-connection.ts";
import { RedisPool } from "../../src/lib/redis-pool.ts";
import { UserService } from "../../src/services/user.service.ts";

export const EMAIL = "mira@example.test";
export const PASSWORD = "correct horse battery";

export interface Harness {
  readonly app: Router;
  readonly redis: RedisPool;
  call(method: string, path: string, options?: CallOptions): Promise<HttpResponse>;
  login(): Promise<string>;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly token?: string;
  readonly headers?: Record<string, string>;
}

export interface HarnessOptions {
  readonly port?: number;
  readonly connect?: Connect;
  readonly now?: () => number;
  readonly env?: Partial<Env>;
  readonly pool?: Partial<RedisPoolOptions>;
  readonly logger?: Logger;
}

/** The whole service without HTTP: requests go straight to the router. */
export async function harness(options: HarnessOptions = {}): Promise<Harness> {
  const now = options.now ?? Date.now;
  const env: Env = { ...loadEnv({}), redisPort: options.port ?? 6379, ...options.env };
  const logger = options.logger ?? silent;
  const users = new UserService();
  await users.add({ id: "u-1", email: EMAIL, name: "Mira", password: PASSWORD });
  await users.add({ id: "u-2", email: "old@example.test", name: "Old", password: PASSWORD, disabled: true });
  const redis = new RedisPool({ ...redisPoolOptions(env), ...options.pool }, logger, options.connect, now);
  const app = createApp({ env, users, redis, logger, now });
  const call = (method: string, path: string, { body, token, headers = {} }: CallOptions = {}) =>
    app.handle({
      method,
      path,
      body,
      headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers },
      remoteAddress: "192.0.2.10",
    });
  const login = async () => {
    const response = await call("POST", "/api/auth/login", { body: { email: EMAIL, password: PASSWORD } });
    if (response.status !== 200) {
      throw new Error(`login answered ${response.status} ${JSON.stringify(response.body)}`);
    }
    return (response.body as { token: string }).token;
  };
  return { app, redis, call, login };
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
