import { RedisReplyError } from "./errors.ts";

export type Reply = string | number | null | Reply[] | RedisReplyError;

/** A command as an array of bulk strings. */
export function encodeCommand(parts: readonly (string | number)[]): Buffer {
  const chunks = [`*${parts.length}\r\n`];
  for (const part of parts) {
    const text = String(part);
    chunks.push(`$${Buffer.byteLength(text)}\r\n${text}\r\n`);
  }
  return Buffer.from(chunks.join(""));
}

/** Incremental reader: feed it chunks, take out complete replies. */
export class ReplyReader {
  private buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    this.buffer = this.buffer.length === 0 ? chunk : Buffer.concat([this.buffer, chunk]);
  }

  /** The next complete reply, or `undefined` when more bytes are needed. */
  next(): Reply | undefined {
    const parsed = this.parse(0);
    if (!parsed) {
      return undefined;
    }
    this.buffer = this.buffer.subarray(parsed.end);
    return parsed.value;
  }

  private line(from: number): { text: string; end: number } | undefined {
    const at = this.buffer.indexOf("\r\n", from);
    return at < 0 ? undefined : { text: this.buffer.toString("utf8", from, at), end: at + 2 };
  }

  private parse(from: number): { value: Reply; end: number } | undefined {
    if (from >= this.buffer.length) {
      return undefined;
    }
    const kind = String.fromCharCode(this.buffer[from]);
    const head = this.line(from + 1);
    if (!head) {
      return undefined;
    }
    switch (kind) {
      case "+":
        return { value: head.text, end: head.end };
      case "-":
        return { value: new RedisReplyError(head.text), end: head.end };
      case ":":
        return { value: Number(head.text), end: head.end };
      case "$": {
        const size = Number(head.text);
        if (size < 0) {
          return { value: null, end: head.end };
        }
        const end = head.end + size + 2;
        if (this.buffer.length < end) {
          return undefined;
        }
        return { value: this.buffer.toString("utf8", head.end, head.end + size), end };
      }
      case "*": {
        const count = Number(head.text);
        if (count < 0) {
          return { value: null, end: head.end };
        }
        const items: Reply[] = [];
        let end = head.end;
        for (let i = 0; i < count; i += 1) {
          const item = this.parse(end);
          if (!item) {
            return undefined;
          }
          items.push(item.value);
          end = item.end;
        }
        return { value: items, end };
      }
      default:
        throw new Error(`unexpected reply type ${JSON.stringify(kind)}`);
    }
  }
}
