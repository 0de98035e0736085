import { HttpError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { empty, json, type HttpRequest, type HttpResponse } from "../http/types.ts";
import { bearerToken } from "../middleware/require-auth.ts";
import type { SessionService } from "../services/session.service.ts";
import type { TokenService } from "../services/token.service.ts";
import type { UserService } from "../services/user.service.ts";

interface Credentials {
  readonly email: string;
  readonly password: string;
}

function credentials(body: unknown): Credentials {
  const given = (body ?? {}) as Partial<Credentials>;
  if (typeof given.email !== "string" || typeof given.password !== "string") {
    throw new HttpError(400, "email_and_password_required");
  }
  return { email: given.email, password: given.password };
}

export class AuthController {
  constructor(
    private readonly users: UserService,
    private readonly sessions: SessionService,
    private readonly tokens: TokenService,
    private readonly logger: Logger,
  ) {}

  login = async (request: HttpRequest): Promise<HttpResponse> => {
    const { email, password } = credentials(request.body);
    const user = await this.users.authenticate(email, password);
    const session = user && (await this.sessions.create(user.id, request.headers["user-agent"] ?? ""));
    if (!user || !session) {
      this.logger.info("auth.login_rejected", { email });
      return json(401, { error: "invalid_credentials" });
    }
    const token = this.tokens.issue(user.id, session.id);
    this.logger.info("auth.login", { userId: user.id, sessionId: session.id });
    return json(200, { token, user: { id: user.id, name: user.name, email: user.email } });
  };

  refresh = async (request: HttpRequest): Promise<HttpResponse> => {
    const token = bearerToken(request);
    const claims = token ? this.tokens.verify(token, true) : null;
    if (!claims) {
      return json(401, { error: "invalid_token" });
    }
    if (!(await this.sessions.touch(claims.sid))) {
      return json(401, { error: "session_expired" });
    }
    return json(200, { token: this.tokens.issue(claims.sub, claims.sid) });
  };

  logout = async (request: HttpRequest): Promise<HttpResponse> => {
    if (request.auth) {
      await this.sessions.end(request.auth.sessionId);
      this.logger.info("auth.logout", { userId: request.auth.userId });
    }
    return empty(204);
  };

  me = async (request: HttpRequest): Promise<HttpResponse> => {
    const user = request.auth ? this.users.get(request.auth.userId) : undefined;
    if (!user) {
      throw new HttpError(404, "user_not_found");
    }
    return json(200, { id: user.id, name: user.name, email: user.email });
  };
}
