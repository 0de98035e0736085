export type Level = "debug" | "info" | "warn" | "error";

export interface Logger {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}

const ORDER: Level[] = ["debug", "info", "warn", "error"];

/** One line per event: `level event key=value ...`; the platform adds the time. */
export function createLogger(level: Level, write: (line: string) => void = (line) => console.error(line)): Logger {
  const emit = (at: Level) => (event: string, fields: Record<string, unknown> = {}) => {
    if (ORDER.indexOf(at) < ORDER.indexOf(level)) {
      return;
    }
    const rest = Object.entries(fields).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
    write([at, event, ...rest].join(" "));
  };
  return { debug: emit("debug"), info: emit("info"), warn: emit("warn"), error: emit("error") };
}

export const silent: Logger = createLogger("error", () => undefined);
