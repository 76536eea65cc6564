import { lstatSync, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { type JsonObject, isJsonObject, type Json } from "../core/contract/index.ts";
import { CommandError, EXIT, type ExitCode } from "./exit-code.ts";
import { byShortPath } from "./socket-path.ts";
import { textOr } from "./text-or.ts";

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
