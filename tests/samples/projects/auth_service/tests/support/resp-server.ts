import net from "node:net";

interface Stored {
  value: string | Set<string>;
  expiresAt: number;
}

export interface RespServerOptions {
  /** Close a client that was idle for this time, as Redis does with `timeout`; 0 never. */
  readonly idleTimeoutMs?: number;
}

/** A Redis stand-in that speaks RESP over a real socket; just the commands that the service uses. */
export class RespServer {
  private readonly data = new Map<string, Stored>();
  private readonly sockets = new Set<net.Socket>();
  private readonly server: net.Server;
  readonly seen: string[][] = [];
  closedIdle = 0;

  private constructor(private readonly options: RespServerOptions) {
    this.server = net.createServer((socket) => this.serve(socket));
  }

  static async start(options: RespServerOptions = {}): Promise<RespServer> {
    const instance = new RespServer(options);
    await new Promise<void>((resolve) => instance.server.listen(0, "127.0.0.1", resolve));
    return instance;
  }

  get port(): number {
    return (this.server.address() as net.AddressInfo).port;
  }

  get clients(): number {
    return this.sockets.size;
  }

  /** Drop every client at once, as a failover does. */
  dropClients(): void {
    for (const socket of this.sockets) {
      socket.destroy();
    }
  }

  async stop(): Promise<void> {
    this.dropClients();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private serve(socket: net.Socket): void {
    this.sockets.add(socket);
    let pending = Buffer.alloc(0);
    const idle = this.options.idleTimeoutMs ?? 0;
    if (idle > 0) {
      socket.setTimeout(idle, () => {
        this.closedIdle += 1;
        socket.destroy();
      });
    }
    socket.on("data", (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      for (let parsed = parseCommand(pending); parsed; parsed = parseCommand(pending)) {
        pending = pending.subarray(parsed.end);
        this.seen.push(parsed.parts);
        socket.write(this.execute(parsed.parts));
      }
    });
    socket.on("error", () => undefined);
    socket.on("close", () => this.sockets.delete(socket));
  }

  private live(key: string): Stored | undefined {
    const stored = this.data.get(key);
    if (stored && stored.expiresAt <= Date.now()) {
      this.data.delete(key);
      return undefined;
    }
    return stored;
  }

  private execute(parts: string[]): string {
    const [name, key = "", ...rest] = parts;
    switch (name.toUpperCase()) {
      case "PING":
        return "+PONG\r\n";
      case "SELECT":
        return "+OK\r\n";
      case "SET": {
        const seconds = rest[1]?.toUpperCase() === "EX" ? Number(rest[2]) : Infinity;
        this.data.set(key, { value: rest[0], expiresAt: Date.now() + seconds * 1000 });
        return "+OK\r\n";
      }
      case "GET": {
        const value = this.live(key)?.value;
        return typeof value === "string" ? `$${Buffer.byteLength(value)}\r\n${value}\r\n` : "$-1\r\n";
      }
      case "DEL":
        return `:${this.data.delete(key) ? 1 : 0}\r\n`;
      case "EXPIRE": {
        const stored = this.live(key);
        if (!stored) {
          return ":0\r\n";
        }
        stored.expiresAt = Date.now() + Number(rest[0]) * 1000;
        return ":1\r\n";
      }
      case "SADD":
      case "SREM": {
        const stored = this.live(key) ?? { value: new Set<string>(), expiresAt: Infinity };
        this.data.set(key, stored);
        const members = stored.value as Set<string>;
        const changed = name.toUpperCase() === "SADD" ? !members.has(rest[0]) && members.add(rest[0]) : members.delete(rest[0]);
        return `:${changed ? 1 : 0}\r\n`;
      }
      default:
        return `-ERR unknown command '${name}'\r\n`;
    }
  }
}

function parseCommand(buffer: Buffer): { parts: string[]; end: number } | undefined {
  const headEnd = buffer.indexOf("\r\n");
  if (headEnd < 0) {
    return undefined;
  }
  const count = Number(buffer.toString("utf8", 1, headEnd));
  const parts: string[] = [];
  let at = headEnd + 2;
  for (let i = 0; i < count; i += 1) {
    const lineEnd = buffer.indexOf("\r\n", at);
    if (lineEnd < 0) {
      return undefined;
    }
    const size = Number(buffer.toString("utf8", at + 1, lineEnd));
    const end = lineEnd + 2 + size + 2;
    if (buffer.length < end) {
      return undefined;
    }
    parts.push(buffer.toString("utf8", lineEnd + 2, end - 2));
    at = end;
  }
  return { parts, end: at };
}
