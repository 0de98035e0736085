import { json, type HttpRequest, type Middleware } from "../http/types.ts";
import type { SessionService } from "../services/session.service.ts";
import type { TokenService } from "../services/token.service.ts";

export function bearerToken(request: HttpRequest): string | null {
  const value = request.headers.authorization;
  return value?.startsWith("Bearer ") ? value.slice("Bearer ".length) : null;
}

/** Lets a request through when its token is valid and its session is alive. */
export function requireAuth(tokens: TokenService, sessions: SessionService): Middleware {
  return async (request, next) => {
    const token = bearerToken(request);
    const claims = token ? tokens.verify(token) : null;
    if (!claims) {
      return json(401, { error: "invalid_token" }, { "www-authenticate": "Bearer" });
    }
    const session = await sessions.find(claims.sid);
    if (!session || session.userId !== claims.sub) {
      return json(401, { error: "session_expired" }, { "www-authenticate": "Bearer" });
    }
    request.auth = { userId: claims.sub, sessionId: claims.sid };
    return next(request);
  };
}
