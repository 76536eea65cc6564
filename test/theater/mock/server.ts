import { createServer, type Socket } from "node:net";
import type { Json } from "../../../src/core/contract/index.ts";
import { decoded, encoded, splitter, type MockCodec } from "./frames.ts";
import { onLoopback } from "../../on-loopback.ts";

/** Sends a response or a push on the connection the command came by. */
export type Say = (response: Json) => void;
/** No reply. */
export const SILENCE = Symbol("silence");
/** The connection ends instead of a reply, as where upstream passes an error on. */
export const CLOSE = Symbol("close");
export type MockAnswer = Json | typeof SILENCE | typeof CLOSE;

export type Fields = Readonly<Record<string, unknown>>;
export type MockCommand = (fields: Fields, say: Say, left: (undo: () => void) => void) => MockAnswer | Promise<MockAnswer>;

export interface MockServer extends AsyncDisposable {
  readonly port: number;
  /** The commands that came and were understood, by name. */
  readonly heard: readonly string[];
  readonly connections: number;
  /** Commands of that name are taken, and everything dies before the reply. */
  dieAt(command: string): void;
  /** Commands of that name are answered when the returned function is called, not before. */
  holdBack(command: string): () => void;
  /** Writes that instead of the next reply to such a command. */
  garble(command: string, bytes: Buffer): void;
  close(): Promise<void>;
}

export interface MockServerOptions {
  readonly codec: MockCodec;
  readonly port?: number;
  readonly commands: Readonly<Record<string, MockCommand>>;
}

/** A unit variant is a bare text, or an object with null; anything else under its name is not parsed, as by serde. */
function parsed(value: unknown): { readonly name: string; readonly fields: Fields } | undefined {
  if (typeof value === "string") return value === "ListActors" ? { name: value, fields: {} } : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  const [entry, ...others] = Object.entries(value);
  if (entry === undefined || others.length > 0) return undefined;
  const [name, fields]: [string, unknown] = entry;
  if (name === "ListActors") return fields === null ? { name, fields: {} } : undefined;
  return typeof fields === "object" && fields !== null ? { name, fields: { ...fields } } : undefined;
}

/** One command at a time per connection; what it cannot parse it does not answer. */
export async function startMock({ codec, port = 0, commands }: MockServerOptions): Promise<MockServer> {
  const sockets = new Set<Socket>();
  const heard: string[] = [];
  const deadly = new Set<string>();
  const held = new Map<string, Promise<void>>();
  const garbled = new Map<string, Buffer>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    const undos: (() => void)[] = [];
    socket.on("error", () => undefined);
    socket.on("close", () => {
      sockets.delete(socket);
      for (const undo of undos) undo();
    });
    const say: Say = (response) => void (socket.destroyed || socket.write(encoded(codec, response)));
    let before = Promise.resolve();
    const answer = async (payload: Buffer): Promise<void> => {
      const command = parsed(decoded(codec, payload));
      const run = command === undefined ? undefined : commands[command.name];
      if (command === undefined || run === undefined) return;
      heard.push(command.name);
      if (deadly.has(command.name)) {
        for (const one of sockets) one.destroy();
        return;
      }
      const reply = await run(command.fields, say, (undo) => undos.push(undo));
      await held.get(command.name);
      const noise = garbled.get(command.name);
      garbled.delete(command.name);
      if (noise !== undefined) socket.write(noise);
      else if (reply === CLOSE) socket.end();
      else if (reply !== SILENCE) say(reply);
    };
    socket.on(
      "data",
      splitter((payload) => {
        before = before.then(() => answer(payload));
      }),
    );
  });
  const loopback = await onLoopback(server, port);
  const close = (): Promise<void> => loopback[Symbol.asyncDispose]();
  return {
    port: loopback.port,
    heard,
    get connections() {
      return sockets.size;
    },
    dieAt: (command) => void deadly.add(command),
    holdBack(command) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(command, promise);
      return () => {
        held.delete(command);
        resolve();
      };
    },
    garble: (command, bytes) => void garbled.set(command, bytes),
    close,
    [Symbol.asyncDispose]: close,
  };
}
