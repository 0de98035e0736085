/** An error with a meaning for the caller of the API. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(`${status} ${code}`);
    this.name = "HttpError";
    this.status = status;
    this.code = code;
  }
}

/** Redis answered, and the answer was an error ("WRONGTYPE ...", "READONLY ..."). */
export class RedisReplyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RedisReplyError";
  }
}

/** The connection to Redis could not be made, broke, or timed out. */
export class RedisConnectionError extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.name = "RedisConnectionError";
    this.code = code;
  }
}
