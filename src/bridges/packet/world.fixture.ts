import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import { SimulatedClock, SimulatedEntropy } from "troupe/testing";
import {
  type Behaviour,
  type Caller,
  type ErrorCode,
  type Json,
  type JsonObject,
  TroupeError,
  type Viewer,
  isJsonObject,
} from "../../core/contract/index.ts";
import { Capabilities } from "./capabilities.ts";
import type { Capability, Emitted } from "./capability.ts";
import { PacketFlow, type PacketFlowOptions, type PacketSession } from "./packet-flow.ts";
import type { ReplyPacket } from "./packet.ts";

// A flow with its engine on simulated time, in memory or in a directory that survives a restart.

export interface WorldOptions extends Pick<PacketFlowOptions, "actors" | "executionMs" | "admit"> {
  readonly disk?: boolean;
  /** Further options of the engine. */
  readonly kinds?: readonly Behaviour[];
}

export const as = (principal: string): Viewer => ({ principal, scopes: [] });

export type World = Awaited<ReturnType<typeof world>>;

export async function world(given: readonly Capability[], { disk = false, kinds = [], ...options }: WorldOptions = {}) {
  const clock = new SimulatedClock();
  const entropy = new SimulatedEntropy();
  const directory = disk ? mkdtempSync(join(tmpdir(), "troupe-packet-")) : undefined;
  const effects: Emitted[] = [];
  const faults: unknown[] = [];
  const progress: ReplyPacket[] = [];

  const onFault = (error: unknown): void => void faults.push(error);
  const open = async (of: readonly Capability[]) => {
    const capabilities = new Capabilities(of, { clock });
    const store = directory === undefined ? undefined : sqliteStore({ directory, clock });
    const all = new Map([...capabilities.kinds, ...kinds].map((kind) => [kind.kind, kind]));
    const engine = await LocalEngine.start({ kinds: [...all.values()], clock, entropy, onFault, ...(store && { store }) });
    const packets = new PacketFlow({ capabilities, engine, clock, entropy, onFault, ...options });
    packets.onEffect((emitted) => void effects.push(emitted));
    return { capabilities, store, engine, packets, sessions: new Map<string, PacketSession>() };
  };
  let now = await open(given);
  const close = async (): Promise<void> => {
    await now.packets[Symbol.asyncDispose]();
    await now.engine[Symbol.asyncDispose]();
    await now.store?.[Symbol.asyncDispose]();
  };

  /** The session of that caller. */
  const session = (caller: Caller): PacketSession => {
    const key = JSON.stringify(caller);
    const known = now.sessions.get(key) ?? now.packets.open({ caller, tell: (packet) => void progress.push(packet) });
    now.sessions.set(key, known);
    return known;
  };
  const send = (packet: JsonObject, caller: Caller = as("ada")): Promise<ReplyPacket> =>
    session(caller).receive(JSON.stringify({ version: "1.0", context: {}, ...packet }));

  return {
    clock,
    effects,
    faults,
    progress,
    session,
    send,
    get engine() {
      return now.engine;
    },
    get packets() {
      return now.packets;
    },
    get actors() {
      return now.packets.actors;
    },
    get capabilities() {
      return now.capabilities;
    },
    /** An `actor_message` of `ada`, or of the named user. */
    say: (capability_id: string, actor_id: string, payload: JsonObject, more: JsonObject = {}, who = "ada"): Promise<ReplyPacket> =>
      send({ type: "actor_message", capability_id, actor_id, payload, ...more }, as(who)),
    /** Replaces everything except what is on disk. */
    async restart(of: readonly Capability[] = given) {
      await close();
      now = await open(of);
    },
    async [Symbol.asyncDispose]() {
      await close();
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The type of error of a `capability_error`; otherwise `undefined`. */
export function errorOf({
  type,
  payload,
}: ReplyPacket): { readonly type: Json; readonly message: Json; readonly details: Json } | undefined {
  const { error } = payload;
  if (type !== "capability_error" || !isJsonObject(error)) return undefined;
  return { type: error["type"] ?? null, message: error["message"] ?? null, details: error["details"] ?? null };
}

export const typeOf = (reply: ReplyPacket): Json | undefined => errorOf(reply)?.type;

export const isTroupeError = <C extends ErrorCode>(error: unknown, code: C): error is TroupeError<C> =>
  error instanceof TroupeError && error.code === code;
