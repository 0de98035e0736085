import { createApp, createServer } from "./app.ts";
import { loadEnv } from "./config/env.ts";
import { redisPoolOptions } from "./config/redis.ts";
import { createLogger } from "./lib/logger.ts";
import { RedisPool } from "./lib/redis-pool.ts";
import { UserService } from "./services/user.service.ts";

const env = loadEnv();
const logger = createLogger(env.logLevel);
const redis = new RedisPool(redisPoolOptions(env), logger);
const server = createServer(createApp({ env, users: new UserService(), redis, logger }), logger);

server.listen(env.port, () => logger.info("http.listening", { port: env.port }));

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    logger.info("http.stopping", { signal });
    server.close(() => redis.close());
  });
}
