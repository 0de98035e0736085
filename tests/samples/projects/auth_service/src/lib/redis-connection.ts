import net from "node:net";
import { RedisConnectionError, RedisReplyError } from "./errors.ts";
import { encodeCommand, ReplyReader, type Reply } from "./resp.ts";
import type { RedisPoolOptions } from "../config/redis.ts";

/** What the pool needs from a connection; tests put a mock in its place. */
export interface Connection {
  readonly id: number;
  send(parts: readonly (string | number)[]): Promise<Reply>;
  close(): void;
}

export type Connect = (options: RedisPoolOptions) => Promise<Connection>;

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

let lastId = 0;

/** One TCP connection; replies come in the order of the commands. */
export class RedisConnection implements Connection {
  readonly id = (lastId += 1);
  private readonly reader = new ReplyReader();
  private readonly waiting: Waiting[] = [];

  private constructor(
    private readonly socket: net.Socket,
    private readonly options: RedisPoolOptions,
  ) {
    socket.on("data", (chunk: Buffer) => this.receive(chunk));
    socket.on("error", (error: NodeJS.ErrnoException) => this.fail(error.message, error.code ?? "ESOCKET"));
    socket.on("close", () => this.fail("connection closed by the server", "ECONNCLOSED"));
  }

  static open(options: RedisPoolOptions): Promise<RedisConnection> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host: options.host, port: options.port, keepAlive: options.keepAlive });
      const timer = setTimeout(() => {
        socket.destroy();
        reject(new RedisConnectionError("connect timed out", "ETIMEDOUT"));
      }, options.connectTimeoutMs);
      const onError = (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        reject(new RedisConnectionError(error.message, error.code ?? "ECONNECT"));
      };
      socket.once("error", onError);
      socket.once("connect", () => {
        clearTimeout(timer);
        socket.off("error", onError);
        socket.setNoDelay(true);
        const connection = new RedisConnection(socket, options);
        if (options.db === 0) {
          resolve(connection);
        } else {
          connection.send(["SELECT", options.db]).then(() => resolve(connection), reject);
        }
      });
    });
  }

  send(parts: readonly (string | number)[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.fail(`no answer to ${parts[0]} in ${this.options.commandTimeoutMs} ms`, "ECMDTIMEOUT");
        this.socket.destroy();
      }, this.options.commandTimeoutMs);
      this.waiting.push({ resolve, reject, timer });
      this.socket.write(encodeCommand(parts), (error) => {
        if (error) {
          this.fail(error.message, (error as NodeJS.ErrnoException).code ?? "EWRITE");
        }
      });
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    this.reader.push(chunk);
    for (let reply = this.reader.next(); reply !== undefined; reply = this.reader.next()) {
      const first = this.waiting.shift();
      if (!first) {
        continue;
      }
      clearTimeout(first.timer);
      if (reply instanceof RedisReplyError) {
        first.reject(reply);
      } else {
        first.resolve(reply);
      }
    }
  }

  private fail(message: string, code: string): void {
    for (const entry of this.waiting.splice(0)) {
      clearTimeout(entry.timer);
      entry.reject(new RedisConnectionError(message, code));
    }
  }
}
