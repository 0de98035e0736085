import { json, type Middleware } from "../http/types.ts";

interface Window {
  startedAt: number;
  count: number;
}

/** At most `limit` requests per address in `windowMs`; kept in memory, so the limit is per replica. */
export function rateLimit(limit: number, windowMs: number, now: () => number = Date.now): Middleware {
  const windows = new Map<string, Window>();
  return async (request, next) => {
    const at = now();
    const current = windows.get(request.remoteAddress);
    if (!current || at - current.startedAt >= windowMs) {
      windows.set(request.remoteAddress, { startedAt: at, count: 1 });
      return next(request);
    }
    current.count += 1;
    if (current.count > limit) {
      const retryAfter = Math.ceil((current.startedAt + windowMs - at) / 1000);
      return json(429, { error: "too_many_requests" }, { "retry-after": String(retryAfter) });
    }
    return next(request);
  };
}
