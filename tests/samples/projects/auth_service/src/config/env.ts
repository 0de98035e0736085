/** All configuration comes from the environment; nothing else reads process.env. */
export interface Env {
  readonly port: number;
  readonly redisHost: string;
  readonly redisPort: number;
  readonly redisDb: number;
  readonly jwtSecret: string;
  readonly tokenTtlSeconds: number;
  readonly sessionTtlSeconds: number;
  readonly corsOrigins: string[];
  readonly logLevel: "debug" | "info" | "warn" | "error";
}

type Source = Record<string, string | undefined>;

function integer(source: Source, name: string, fallback: number): number {
  const raw = source[name];
  if (raw === undefined || raw === "") {
    return fallback;
  }
  const value = Number(raw);
  if (!Number.isInteger(value) || value < 0) {
    throw new Error(`${name} must be a whole number, got "${raw}"`);
  }
  return value;
}

export function loadEnv(source: Source = process.env): Env {
  const level = source.LOG_LEVEL ?? "info";
  if (level !== "debug" && level !== "info" && level !== "warn" && level !== "error") {
    throw new Error(`LOG_LEVEL must be debug, info, warn or error, got "${level}"`);
  }
  return {
    port: integer(source, "PORT", 8080),
    redisHost: source.REDIS_HOST ?? "127.0.0.1",
    redisPort: integer(source, "REDIS_PORT", 6379),
    redisDb: integer(source, "REDIS_DB", 0),
    jwtSecret: source.JWT_SECRET ?? "dev-only-secret",
    tokenTtlSeconds: integer(source, "TOKEN_TTL_SECONDS", 900),
    sessionTtlSeconds: integer(source, "SESSION_TTL_SECONDS", 1800),
    corsOrigins: (source.CORS_ORIGINS ?? "http://localhost:5173").split(","),
    logLevel: level,
  };
}
