// Owns: the Unix socket by which commands reach the server of a data directory: both ends. Does not own: the operations (operations.ts).
import { lstatSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject, type Json, type JsonObject } from "../core/contract/index.ts";
import { CommandError, describeFailure, EXIT, type ExitCode } from "./command-error.ts";
import { textOrElse } from "./output.ts";

// sun_path holds 108 bytes on Linux and 104 on macOS, the final zero included.
const MAX_PATH_BYTES = 103;

/**
 * Calls `use` with a path short enough for a socket. A path that is too long is reached through a link in a private temporary folder, which
 * is removed when `use` settles; the socket itself stays in its directory.
 */
const withShortPath = async <T>(path: string, use: (short: string) => Promise<T>): Promise<T> => {
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return await use(path);
  const folder = mkdtempSync(join(tmpdir(), "troupe-"));
  try {
    symlinkSync(dirname(path), join(folder, "d"));
    const short = join(folder, "d", basename(path));
    if (Buffer.byteLength(short) > MAX_PATH_BYTES)
      throw new CommandError(
        EXIT.unavailable,
        "DATA_DIRECTORY",
        `${path} is too long for a socket, and so is the temporary folder ${tmpdir()}: name a shorter one in TMPDIR, or a shorter --data.`,
      );
    return await use(short);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

// The running server holds the directory, so commands that write send it a request: one JSON line, answered with one line, {"ok"} or {"error"}.

export type ControlHandler = (operation: string, args: JsonObject) => Promise<Json>;

const MAX_LINE = 4 * 1024 * 1024;
/** How long the last replies may take when the server stops. */
const LAST_ANSWERS_MS = 500;

/** Listens on the Unix socket at `path`, for commands of the same user. */
export const serveControl = async (path: string, handle: ControlHandler): Promise<() => Promise<void>> => {
  const sockets = new Set<Socket>();
  const pending = new Set<Promise<void>>();
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
        // The rest is still read: a client that is writing would not read the reply.
        if (isTooLong) text = "";
        return;
      }
      const line = text.slice(0, end);
      text = "";
      const answering = (isTooLong ? Promise.resolve(tooLong) : handleLine(line, handle)).then((reply) =>
        sendAndClose(socket, `${JSON.stringify(reply)}\n`),
      );
      isTooLong = false;
      pending.add(answering);
      void answering.then(() => pending.delete(answering));
    });
  });
  // Node unlinks the path at which a socket was bound when it closes it. If the folder was moved, that could be another server's socket by
  // then, so the socket is bound at another path and renamed.
  const boundPath = `${path}.${process.pid}`;
  rmSync(boundPath, { force: true });
  await withShortPath(
    boundPath,
    (short) =>
      new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        // Others must never be able to connect, not even before a chmod.
        const mask = process.umask(0o177);
        try {
          server.listen(short, resolve);
        } finally {
          process.umask(mask);
        }
      }),
  );
  const own = identityOf(boundPath);
  renameSync(boundPath, path);
  return async () => {
    // No new requests from now on.
    if (identityOf(path) === own) rmSync(path, { force: true });
    // Pending requests have been completed or failed by now; their replies must be sent.
    await Promise.race([Promise.all(pending), sleep(LAST_ANSWERS_MS, undefined, { ref: false })]);
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

/** Undefined if there is no file. */
const identityOf = (path: string): string | undefined => {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
};

/** Settles when the text is sent, or the socket is closed. */
const sendAndClose = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve) => {
    socket.once("close", resolve);
    socket.end(text, resolve);
  });

const handleLine = async (line: string, handle: ControlHandler): Promise<Json> => {
  try {
    const request: unknown = JSON.parse(line);
    if (!isJsonObject(request) || typeof request["op"] !== "string" || !isJsonObject(request["args"]))
      throw new CommandError(EXIT.usage, "USAGE", 'A control request is {"op": name, "args": {…}}.');
    return { ok: await handle(request["op"], request["args"]) };
  } catch (error) {
    return { error: { ...describeFailure(error) } };
  }
};

/** Compares user ids: the socket must belong to the user of the command; for root, to the owner of the directory. */
export const isTrustedSocket = (ids: { readonly socket: number; readonly directory: number; readonly user: number }): boolean =>
  ids.socket === ids.user || (ids.user === 0 && ids.socket === ids.directory);

/** Whether there is a socket. Throws if another user created it, as is possible in a directory that others may write to. */
const isSocket = (path: string): boolean => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSocket() !== true) return false;
  const user = process.geteuid?.() ?? found.uid;
  if (isTrustedSocket({ socket: found.uid, directory: statSync(dirname(path)).uid, user })) return true;
  throw new CommandError(
    EXIT.unavailable,
    "DATA_DIRECTORY",
    `${path} belongs to user ${found.uid}, and this command runs as user ${user}: run it as the user whose server has the directory.`,
  );
};

/** Sends a request to the server at `path`. Undefined if none listens there. */
export const requestServer = async (path: string, op: string, args: JsonObject): Promise<{ readonly ok: Json } | undefined> => {
  if (!isSocket(path)) return undefined;
  const socket = await withShortPath(path, connectTo);
  if (socket === undefined) return undefined;
  socket.write(`${JSON.stringify({ op, args })}\n`);
  try {
    return await readReply(socket);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw connectionLost();
  } finally {
    socket.destroy();
  }
};

/** Whether a server takes commands at `path`. */
export const isListening = async (path: string): Promise<boolean> => {
  if (!isSocket(path)) return false;
  const socket = await withShortPath(path, connectTo);
  socket?.destroy();
  return socket !== undefined;
};

const connectionLost = (): CommandError =>
  new CommandError(EXIT.unavailable, "SERVER_GONE", "The running server closed its socket before it answered; look at its log.");

/** Reads the reply. Throws the server's error, and the reason if the socket ends first. */
const readReply = async (socket: Socket): Promise<{ readonly ok: Json }> => {
  const chunks: string[] = [];
  socket.setEncoding("utf8");
  // Not by `node:readline`, which also ends lines at U+2028 and U+2029.
  for await (const chunk of socket) {
    chunks.push(String(chunk));
    if (chunks.at(-1)?.endsWith("\n") === true) break;
  }
  const reply: unknown = JSON.parse(chunks.join(""));
  if (isJsonObject(reply) && isJsonObject(reply["error"])) {
    const { exit, code, message } = reply["error"];
    const text = textOrElse(message, "The server failed without a word.");
    throw new CommandError(
      isExit(exit) ? exit : EXIT.failed,
      textOrElse(code, "FAILED"),
      code === "CRASHED" ? `${text} The server's log says why.` : text,
    );
  }
  if (isJsonObject(reply) && reply["ok"] !== undefined) return { ok: reply["ok"] };
  throw connectionLost();
};

const connectTo = (path: string): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    socket.on("error", () => resolve(undefined));
  });

const isExit = (value: unknown): value is ExitCode => Object.values(EXIT).some((code) => code === value);
