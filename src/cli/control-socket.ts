import { lstatSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject, type Json, type JsonObject } from "../core/contract/index.ts";
import { CommandError, describeFailure, EXIT, type ExitCode } from "./command-error.ts";
import { textOr } from "./output.ts";

// sun_path holds 108 bytes on Linux and 104 on macOS, the final zero included.
const LONGEST = 103;

/**
 * Binds or connects a socket by a path the system takes. Where `path` is too long, the way there is a link in a private
 * folder of an unguessable name, gone as soon as `use` settles: the socket itself stays where only its owner may go.
 */
const byShortPath = async <T>(path: string, use: (short: string) => Promise<T>): Promise<T> => {
  if (Buffer.byteLength(path) <= LONGEST) return await use(path);
  const folder = mkdtempSync(join(tmpdir(), "troupe-"));
  try {
    symlinkSync(dirname(path), join(folder, "d"));
    const short = join(folder, "d", basename(path));
    if (Buffer.byteLength(short) > LONGEST)
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
export const askControl = async (path: string, op: string, args: JsonObject): Promise<{ readonly ok: Json } | undefined> => {
  if (!isSocket(path)) return undefined;
  const socket = await byShortPath(path, listening);
  if (socket === undefined) return undefined;
  socket.write(`${JSON.stringify({ op, args })}\n`);
  try {
    return await answerFrom(socket);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw gone();
  } finally {
    socket.destroy();
  }
};

/** Whether a server takes commands at `path`. */
export const isListening = async (path: string): Promise<boolean> => {
  if (!isSocket(path)) return false;
  const socket = await byShortPath(path, listening);
  socket?.destroy();
  return socket !== undefined;
};

const gone = (): CommandError =>
  new CommandError(EXIT.unavailable, "SERVER_GONE", "The running server closed its socket before it answered; look at its log.");

/** Throws what the server answers with, and whatever ends the socket before it does. */
const answerFrom = async (socket: Socket): Promise<{ readonly ok: Json }> => {
  const chunks: string[] = [];
  socket.setEncoding("utf8");
  // Not by `node:readline`, for which U+2028 and U+2029 end a line, too.
  for await (const chunk of socket) {
    chunks.push(String(chunk));
    if (chunks.at(-1)?.endsWith("\n") === true) break;
  }
  const reply: unknown = JSON.parse(chunks.join(""));
  if (isJsonObject(reply) && isJsonObject(reply["error"])) {
    const { exit, code, message } = reply["error"];
    throw new CommandError(isExit(exit) ? exit : EXIT.failed, textOr(code, "FAILED"), textOr(message, "The server failed without a word."));
  }
  if (isJsonObject(reply) && reply["ok"] !== undefined) return { ok: reply["ok"] };
  throw gone();
};

const listening = (path: string): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    socket.on("error", () => resolve(undefined));
  });

const isExit = (value: unknown): value is ExitCode => Object.values(EXIT).some((code) => code === value);
