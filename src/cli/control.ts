import { createServer, connect, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { lstatSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isBag, type Json } from "../contract/index.ts";
import { textOr } from "./text-or.ts";
import { CommandError, describeFailure, EXIT, type ExitCode } from "./exit-code.ts";
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

/** User ids: whether who made this socket is whom the command speaks for. Root speaks for whoever owns the directory. */
export const isServersSocket = (ids: { readonly socket: number; readonly directory: number; readonly user: number }): boolean =>
  ids.socket === ids.user || (ids.user === 0 && ids.socket === ids.directory);

/** Whether there is a socket. Throws where another user made it: in a directory others may write to, anybody could. */
const isSocket = (path: string): boolean => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSocket() !== true) return false;
  const user = process.geteuid?.() ?? found.uid;
  if (isServersSocket({ socket: found.uid, directory: statSync(dirname(path)).uid, user })) return true;
  throw new CommandError(
    EXIT.unavailable,
    "DATA_DIRECTORY",
    `${path} belongs to user ${found.uid}, and this command runs as user ${user}: run it as the user whose server has the directory.`,
  );
};

/** Asks the server at `path`. Undefined: none is listening there. */
export const askControl = async (
  path: string,
  op: string,
  args: Readonly<Record<string, Json>>,
): Promise<{ readonly ok: Json } | undefined> => {
  if (!isSocket(path)) return undefined;
  const socket = await byShortPath(path, listening);
  if (socket === undefined) return undefined;
  socket.write(`${JSON.stringify({ op, args })}\n`);
  for await (const line of createInterface({ input: socket })) {
    const reply: unknown = JSON.parse(line);
    if (isBag(reply) && isBag(reply["error"])) {
      const { exit, code, message } = reply["error"];
      throw new CommandError(
        isExit(exit) ? exit : EXIT.failed,
        textOr(code, "FAILED"),
        textOr(message, "The server failed without a word."),
      );
    }
    if (isBag(reply) && reply["ok"] !== undefined) return { ok: reply["ok"] };
  }
  throw new CommandError(EXIT.unavailable, "SERVER_GONE", "The running server closed its socket before it answered; look at its log.");
};

const listening = (path: string): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    socket.on("error", () => resolve(undefined));
  });

const isExit = (value: unknown): value is ExitCode => Object.values(EXIT).some((code) => code === value);
