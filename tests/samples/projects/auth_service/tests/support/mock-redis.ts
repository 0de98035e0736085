import { RedisReplyError } from "../../src/lib/errors.ts";
import type { Connect, Connection } from "../../src/lib/redis-connection.ts";
import type { Reply } from "../../src/lib/resp.ts";

/** In-memory connection for tests that need a clock of their own. Each connection has its own data. */
class MockConnection implements Connection {
  private readonly data = new Map<string, { value: string; expiresAt: number }>();

  constructor(
    readonly id: number,
    private readonly now: () => number,
  ) {}

  async send(parts: readonly (string | number)[]): Promise<Reply> {
    const [name, key, ...rest] = parts.map(String);
    const stored = this.data.get(key);
    const live = stored && stored.expiresAt > this.now() ? stored : undefined;
    switch (name) {
      case "SET":
        this.data.set(key, { value: rest[0], expiresAt: this.now() + Number(rest[2]) * 1000 });
        return "OK";
      case "GET":
        return live ? live.value : null;
      case "EXPIRE":
        if (!live) {
          return 0;
        }
        live.expiresAt = this.now() + Number(rest[0]) * 1000;
        return 1;
      case "DEL":
        return this.data.delete(key) ? 1 : 0;
      case "SADD":
      case "SREM":
        return 1;
      default:
        throw new RedisReplyError(`ERR unknown command '${name}'`);
    }
  }

  close(): void {
    this.data.clear();
  }
}

/** A `Connect` for the pool that never opens a socket. */
export function mockConnect(now: () => number): Connect {
  let count = 0;
  return async () => new MockConnection((count += 1), now);
}
