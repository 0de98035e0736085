import { json, type Handler, type HttpRequest, type HttpResponse, type Middleware } from "./types.ts";

interface Route {
  readonly method: string;
  readonly path: string;
  readonly handler: Handler;
}

/** Exact-path routing; five routes do not need patterns. */
export class Router {
  private readonly routes: Route[] = [];
  private readonly middlewares: Middleware[] = [];

  use(middleware: Middleware): this {
    this.middlewares.push(middleware);
    return this;
  }

  on(method: string, path: string, handler: Handler): this {
    this.routes.push({ method: method.toUpperCase(), path, handler });
    return this;
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const dispatch = this.middlewares.reduceRight<Handler>(
      (next, middleware) => (incoming) => middleware(incoming, next),
      (incoming) => this.dispatch(incoming),
    );
    return dispatch(request);
  }

  private async dispatch(request: HttpRequest): Promise<HttpResponse> {
    const samePath = this.routes.filter((route) => route.path === request.path);
    if (samePath.length === 0) {
      return json(404, { error: "not_found" });
    }
    const route = samePath.find((candidate) => candidate.method === request.method);
    if (!route) {
      return json(405, { error: "method_not_allowed" }, { allow: samePath.map((r) => r.method).join(", ") });
    }
    return route.handler(request);
  }
}

/** Wrap a handler with middlewares that apply to one route only. */
export function guarded(handler: Handler, ...middlewares: Middleware[]): Handler {
  return middlewares.reduceRight<Handler>((next, middleware) => (request) => middleware(request, next), handler);
}
