import { randomUUID } from "node:crypto";
import type { Logger } from "../lib/logger.ts";
import type { RedisPool } from "../lib/redis-pool.ts";

export interface Session {
  readonly id: string;
  readonly userId: string;
  readonly createdAt: number;
  readonly userAgent: string;
}

/** Sessions in Redis: `session:<id>` holds the JSON, with a sliding expiry. */
export class SessionService {
  constructor(
    private readonly redis: RedisPool,
    private readonly ttlSeconds: number,
    private readonly logger: Logger,
    private readonly now: () => number = Date.now,
  ) {}

  /** Open a session; `null` when it could not be stored. */
  async create(userId: string, userAgent: string): Promise<Session | null> {
    const session: Session = { id: randomUUID(), userId, createdAt: this.now(), userAgent };
    try {
      await this.redis.command("SET", this.key(session.id), JSON.stringify(session), "EX", this.ttlSeconds);
      await this.redis.command("SADD", `user-sessions:${userId}`, session.id);
      return session;
    } catch (error) {
      this.logger.debug("session.create_failed", { userId, error: String(error) });
      return null;
    }
  }

  /** The live session, or `null` when it expired, was ended, or never was. */
  async find(id: string): Promise<Session | null> {
    const raw = await this.redis.command("GET", this.key(id));
    return typeof raw === "string" ? (JSON.parse(raw) as Session) : null;
  }

  /** Extend the session by another full period; false when it is gone. */
  async touch(id: string): Promise<boolean> {
    const reply = await this.redis.command("EXPIRE", this.key(id), this.ttlSeconds);
    return reply === 1;
  }

  async end(id: string): Promise<void> {
    const session = await this.find(id);
    await this.redis.command("DEL", this.key(id));
    if (session) {
      await this.redis.command("SREM", `user-sessions:${session.userId}`, id);
    }
  }

  private key(id: string): string {
    return `session:${id}`;
  }
}
