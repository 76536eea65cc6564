// As much of Express as the tests call: it ships no types of its own.
declare module "express" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  type Handler = (request: IncomingMessage, response: ServerResponse, next: () => void) => unknown;

  interface App {
    (request: IncomingMessage, response: ServerResponse): void;
    use(handler: Handler): void;
    use(path: string, handler: Handler): void;
    all(path: string, handler: Handler): void;
  }

  const express: { (): App; json(): Handler };
  export default express;
}
