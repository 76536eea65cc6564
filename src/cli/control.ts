import { lstatSync, renameSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type JsonObject, isJsonObject, type Json } from "../core/contract/index.ts";
import { CommandError, describeFailure, EXIT } from "./exit-code.ts";
import { byShortPath } from "./socket-path.ts";

// The running server holds the directory, so commands that write ask it to. One
// JSON line there, one back: {"ok"} or {"error"}.

export type ControlHandler = (operation: string, args: JsonObject) => Promise<Json>;

const MAX_LINE = 4 * 1024 * 1024;
/** An answer that is worked out, or a client that reads. */
const LAST_ANSWERS_MS = 500;

/** Listens on the Unix socket at `path` for the commands of the same user. */
export const serveControl = async (path: string, handle: ControlHandler): Promise<() => Promise<void>> => {
  const sockets = new Set<Socket>();
  const asked = new Set<Promise<void>>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    let text = "";
    let isTooLong = false;
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\n");
      isTooLong ||= (end < 0 ? text.length : end) > MAX_LINE;
      if (end < 0) {
        // What follows is read all the same: a client that is still writing would not read the answer.
        if (isTooLong) text = "";
        return;
      }
      const line = text.slice(0, end);
      text = "";
      const answering = (isTooLong ? Promise.resolve(tooLong) : answer(line, handle)).then((reply) =>
        sent(socket, `${JSON.stringify(reply)}\n`),
      );
      isTooLong = false;
      asked.add(answering);
      void answering.then(() => asked.delete(answering));
    });
  });
  // Closing a socket, Node unlinks the path it was bound at, whatever is there by then: where the folder was moved away, that may be
  // another server's socket. So it gets its name after it was bound.
  const made = `${path}.${process.pid}`;
  rmSync(made, { force: true });
  await byShortPath(
    made,
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
  const own = identityOf(made);
  renameSync(made, path);
  return async () => {
    // Nobody else asks from now on.
    if (identityOf(path) === own) rmSync(path, { force: true });
    // What has been asked is over, or was told that it will not be: the answer must have left.
    await Promise.race([Promise.all(asked), sleep(LAST_ANSWERS_MS, undefined, { ref: false })]);
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
};

const tooLong: Json = {
  error: {
    exit: EXIT.usage,
    code: "USAGE",
    message: `The running server takes at most ${MAX_LINE / 1_048_576} MiB at once: stop it, then run the command again.`,
  },
};

/** Undefined: there is no file. */
const identityOf = (path: string): string | undefined => {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
};

/** Settles when it has left, or nobody reads it. */
const sent = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve) => {
    socket.once("close", resolve);
    socket.end(text, resolve);
  });

const answer = async (line: string, handle: ControlHandler): Promise<Json> => {
  try {
    const request: unknown = JSON.parse(line);
    if (!isJsonObject(request) || typeof request["op"] !== "string" || !isJsonObject(request["args"]))
      throw new CommandError(EXIT.usage, "USAGE", 'A control request is {"op": name, "args": {…}}.');
    return { ok: await handle(request["op"], request["args"]) };
  } catch (error) {
    return { error: { ...describeFailure(error) } };
  }
};
