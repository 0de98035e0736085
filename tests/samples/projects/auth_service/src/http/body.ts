import type { IncomingMessage } from "node:http";
import { HttpError } from "../lib/errors.ts";

const MAX_BODY = 16 * 1024;

/** Read and parse a JSON body; an empty body is `undefined`. */
export async function readJson(message: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) {
      throw new HttpError(413, "body_too_large");
    }
    chunks.push(chunk);
  }
  if (size === 0) {
    return undefined;
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new HttpError(400, "malformed_json");
  }
}
