import type { IncomingHttpHeaders } from "node:http";

/** What a handler gets: the parsed request, independent of node's stream objects. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  readonly body: unknown;
  /** Set by require-auth. */
  auth?: AuthContext;
}

export interface AuthContext {
  readonly userId: string;
  readonly sessionId: string;
}

export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  body?: unknown;
}

export type Handler = (request: HttpRequest) => Promise<HttpResponse>;

/** A middleware may answer itself or call `next` and change what comes back. */
export type Middleware = (request: HttpRequest, next: Handler) => Promise<HttpResponse>;

export function json(status: number, body: unknown, headers: Record<string, string> = {}): HttpResponse {
  return { status, body, headers: { "content-type": "application/json; charset=utf-8", ...headers } };
}

export function empty(status: number, headers: Record<string, string> = {}): HttpResponse {
  return { status, headers };
}
