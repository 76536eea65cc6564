import { createServer, type Server, type Socket } from "node:net";
import { isBag, type Json } from "../contract/index.ts";
import { CommandError, describeFailure, EXIT } from "./exit-code.ts";
import { byShortPath } from "./socket-path.ts";

// The running server holds the directory, so commands that write ask it to. One
// JSON line there, JSON lines back: {"ok"} ends an answer, {"error"} too, {"item"} precedes them.

export type ControlHandler = (operation: string, args: Readonly<Record<string, Json>>) => Promise<Json>;

const MAX_LINE = 4 * 1024 * 1024;

/** Listens on the Unix socket at `path` for the commands of the same user. */
export const serveControl = async (path: string, handle: ControlHandler): Promise<() => Promise<void>> => {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > MAX_LINE) socket.destroy();
      const end = text.indexOf("\n");
      if (end < 0) return;
      const line = text.slice(0, end);
      text = "";
      void answer(line, handle).then((reply) => socket.end(`${JSON.stringify(reply)}\n`));
    });
  });
  await byShortPath(
    path,
    (short) =>
      new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        // The socket must never be open to others, not even between its making and a chmod.
        const mask = process.umask(0o177);
        try {
          server.listen(short, resolve);
        } finally {
          process.umask(mask);
        }
      }),
  );
  return async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
};

const answer = async (line: string, handle: ControlHandler): Promise<Json> => {
  try {
    const request: unknown = JSON.parse(line);
    if (!isBag(request) || typeof request["op"] !== "string" || !isBag(request["args"]))
      throw new CommandError(EXIT.usage, "USAGE", 'A control request is {"op": name, "args": {…}}.');
    return { ok: await handle(request["op"], request["args"]) };
  } catch (error) {
    return { error: { ...describeFailure(error) } };
  }
};
