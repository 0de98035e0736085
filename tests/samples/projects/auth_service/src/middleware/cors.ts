import { empty, type HttpRequest, type Middleware } from "../http/types.ts";

const METHODS = "GET, POST";
const HEADERS = "authorization, content-type";
const MAX_AGE = "600";

/** Cross-origin rules: our front ends may send credentials, everybody else gets the public policy. */
export function cors(allowed: readonly string[]): Middleware {
  return async (request, next) => {
    const headers = corsHeaders(request, allowed);
    if (request.method === "OPTIONS" && request.headers["access-control-request-method"]) {
      return empty(204, { ...headers, "access-control-max-age": MAX_AGE });
    }
    const response = await next(request);
    return { ...response, headers: { ...response.headers, ...headers } };
  };
}

function corsHeaders(request: HttpRequest, allowed: readonly string[]): Record<string, string> {
  const origin = request.headers.origin;
  if (!origin) {
    return {};
  }
  return {
    "access-control-allow-origin": allowed.includes(origin) ? origin : "*",
    "access-control-allow-credentials": "true",
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": HEADERS,
  };
}
