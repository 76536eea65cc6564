import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Server } from "node:net";

/** Listens on a free port and prints it for the parent process. */
export const ready = (server: Server): void =>
  void server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    console.log(JSON.stringify({ ready: true, port: typeof address === "object" ? address?.port : 0 }));
  });

/** Starts an HTTP server that reads each request's body as text and calls `handle`. */
export const readyWith = (handle: (text: string, response: ServerResponse, request: IncomingMessage) => void): void =>
  ready(
    createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8");
      request.on("data", (chunk: string) => (text += chunk));
      request.on("end", () => handle(text, response, request));
    }),
  );
