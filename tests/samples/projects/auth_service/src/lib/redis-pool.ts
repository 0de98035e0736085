import type { RedisPoolOptions } from "../config/redis.ts";
import { RedisConnectionError } from "./errors.ts";
import type { Logger } from "./logger.ts";
import { RedisConnection, type Connect, type Connection } from "./redis-connection.ts";
import type { Reply } from "./resp.ts";

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

/** A small pool: a command borrows a connection, runs, and gives it back. */
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
    const connection = await this.acquire();
    try {
      const reply = await connection.send(parts);
      this.release(connection);
      return reply;
    } catch (error) {
      this.release(connection);
      this.logger.debug("redis.command_failed", { command: parts[0], connection: connection.id, error: String(error) });
      throw error;
    }
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

  private async acquire(): Promise<Connection> {
    const entry = this.idle.pop();
    if (entry) {
      this.logger.debug("redis.reuse", { connection: entry.connection.id, idleMs: this.now() - entry.since });
      return entry.connection;
    }
    if (this.open < this.options.maxConnections) {
      return this.create();
    }
    const handed = await new Promise<Connection | undefined>((resolve) => this.queue.push(resolve));
    return handed ?? this.create();
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
      if (error instanceof RedisConnectionError) {
        this.logger.warn("redis.connect_failed", { code: error.code, error: error.message });
      }
      throw error;
    }
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
