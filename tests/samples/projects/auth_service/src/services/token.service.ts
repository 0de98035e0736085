import { createHmac, timingSafeEqual } from "node:crypto";

export interface TokenClaims {
  readonly sub: string;
  readonly sid: string;
  readonly iat: number;
  readonly exp: number;
}

const HEADER = Buffer.from(JSON.stringify({ alg: "HS256", typ: "JWT" })).toString("base64url");

/** Signs and checks our access tokens (JWT, HS256). */
export class TokenService {
  constructor(
    private readonly secret: string,
    private readonly ttlSeconds: number,
    private readonly now: () => number = Date.now,
  ) {}

  issue(userId: string, sessionId: string): string {
    const iat = Math.floor(this.now() / 1000);
    const claims: TokenClaims = { sub: userId, sid: sessionId, iat, exp: iat + this.ttlSeconds };
    const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
    return `${HEADER}.${payload}.${this.sign(`${HEADER}.${payload}`)}`;
  }

  /** The claims of a valid token, `null` for anything else. An expired token is valid for `refresh` only. */
  verify(token: string, allowExpired = false): TokenClaims | null {
    const [header, payload, signature] = token.split(".");
    if (header !== HEADER || !payload || !signature) {
      return null;
    }
    const expected = Buffer.from(this.sign(`${header}.${payload}`));
    const actual = Buffer.from(signature);
    if (expected.length !== actual.length || !timingSafeEqual(expected, actual)) {
      return null;
    }
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as TokenClaims;
    if (!allowExpired && claims.exp * 1000 <= this.now()) {
      return null;
    }
    return claims;
  }

  private sign(text: string): string {
    return createHmac("sha256", this.secret).update(text).digest("base64url");
  }
}
