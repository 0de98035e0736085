import type { Env } from "./env.ts";

export interface RedisPoolOptions {
  readonly host: string;
  readonly port: number;
  readonly db: number;
  /** Upper bound of open connections. */
  readonly maxConnections: number;
  /** Give up opening a connection after this time. */
  readonly connectTimeoutMs: number;
  /** Give up waiting for the answer to one command after this time. */
  readonly commandTimeoutMs: number;
  /** Close a connection that was not used for this time; 0 keeps it for ever. */
  readonly idleTimeoutMs: number;
  /** Let the kernel probe idle connections. */
  readonly keepAlive: boolean;
}

/**
 * Pool settings of the session store.
 *
 * Opening a connection costs a TLS handshake in production, so connections are never given back.
 */
export function redisPoolOptions(env: Env): RedisPoolOptions {
  return {
    host: env.redisHost,
    port: env.redisPort,
    db: env.redisDb,
    maxConnections: 32,
    connectTimeoutMs: 1000,
    commandTimeoutMs: 2000,
    idleTimeoutMs: 0,
    keepAlive: false,
  };
}
