// As much of Express as the tests call: it ships no types of its own.
declare module "express" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  type Handler = (request: IncomingMessage, response: ServerResponse, next: () => void) => unknown;

  export interface App {
    (request: IncomingMessage, response: ServerResponse): void;
    use(handler: Handler): App;
    use(path: string, ...handlers: Handler[]): App;
    all(path: string | readonly string[], handler: Handler): App;
    set(name: string, value: unknown): App;
  }

  const express: { (): App; json(): Handler; Router(): App };
  export default express;
}
