/** Guests that are scripts: a sandbox that runs TypeScript functions instead of WebAssembly. */
import { hash } from "node:crypto";
import { LocalEngine } from "../../../core/engine/index.ts";
import { memoryContents, memoryStore } from "../../../core/store/index.ts";
import { SimulatedClock, SimulatedEntropy } from "../../../testing/index.ts";
import {
  StoreError,
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type ContentStore,
  type Engine,
  type Json,
  type Outgoing,
  type Reply,
  type Store,
} from "../../../core/contract/index.ts";
import type { Component } from "../component/component.ts";
import type { Grants, Manifest } from "../manifest/manifest.ts";
import type { ExportName, ImportName } from "../component/world.ts";
import { createGuests, type Guests } from "../guests.ts";
import type { GuestOptions } from "../guest-options.ts";
import type { GuestState } from "../guest-state.ts";
import type { GuestCall, GuestOutcome, HostCall, Sandbox } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import { messageOf } from "../wasm-error.ts";

/** Thrown by a script: the guest returns an error. */
export class GuestError extends Error {}
/** Thrown by a script: the sandbox ends the call. */
export class SandboxEnd extends Error {
  readonly how: "trap" | "killed" | "lost";
  constructor(how: "trap" | "killed" | "lost") {
    super(`the script is ${how}`);
    this.how = how;
  }
}

export interface ScriptContext {
  readonly call: GuestCall;
  readonly state: string | undefined;
  /** Calls an import. Its errors are returned as `{ err }`. */
  readonly ask: (name: ImportName, ...args: WitValue[]) => Promise<WitValue>;
  /** The number of this attempt. */
  readonly tried: number;
}

export type Script = Partial<
  Record<ExportName, (asked: ScriptContext, params: readonly WitValue[]) => Promise<{ readonly state?: string; readonly back?: WitValue }>>
>;

/** Thrown by a script: the sandbox retries the call, as when a neighbour was killed. */
export class RetryCall extends Error {}

class ScriptedSandbox implements Sandbox {
  readonly measures = { instances: 0, workers: 0, killed: 0, started: 0 };
  readonly forgotten: string[] = [];
  readonly ran: string[] = [];
  readonly #scripts: Readonly<Record<string, Script>>;

  constructor(scripts: Readonly<Record<string, Script>>) {
    this.#scripts = scripts;
  }

  memoryOf(): number {
    return 65_536;
  }

  async run(call: GuestCall): Promise<GuestOutcome> {
    this.ran.push(`${call.guest} ${call.export}`);
    const name = Buffer.from(call.component.module).toString();
    for (let tried = 1; ; tried += 1) {
      const did: HostCall[] = [];
      const host = call.host();
      const ask = async (of: ImportName, ...args: WitValue[]): Promise<WitValue> => {
        const result = await host.call(of, args).then(
          (given) => given.result,
          (error: unknown) => ({ err: messageOf(error) }),
        );
        did.push({ name: of, args, result });
        return result;
      };
      const state = call.state === undefined ? undefined : Buffer.from(call.state).toString();
      try {
        const handler = this.#scripts[name]?.[call.export];
        if (handler === undefined) throw new SandboxEnd("trap");
        const { state: next = state, back } = await handler({ call, state, ask, tried }, call.params);
        return { did, host, end: "ok", state: next === undefined ? undefined : new Uint8Array(Buffer.from(next)), back };
      } catch (error) {
        if (error instanceof RetryCall) continue;
        if (error instanceof GuestError) return { did, host, end: "error", message: error.message };
        if (!(error instanceof SandboxEnd)) throw error;
        if (error.how === "killed") return { did, host, end: "killed", why: "time", message: error.message };
        return { did, host, end: error.how, message: error.message };
      }
    }
  }

  forget(guest: string): void {
    this.forgotten.push(guest);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** A script is a component whose bytes are its name. */
export const scripted =
  (scripts: Readonly<Record<string, Script>>) =>
  (bytes: Uint8Array): Component => {
    const name = Buffer.from(bytes).toString();
    const script = scripts[name];
    if (script === undefined) throw new Error(`${name} is no component.`);
    const exports = Object.fromEntries(Object.keys(script).map((of) => [of, { core: of }]));
    const digest = hash("sha256", bytes, "hex");
    return { digest, package: "theater:simple", module: bytes, realloc: "", memory: "", imports: [], exports };
  };

export const ALL: Grants = {
  runtime: true,
  messageServer: true,
  supervisor: true,
  store: true,
  timing: { minSleepMs: 1, maxSleepMs: 10_000 },
};

/** Here, the text of a manifest is JSON. */
export const manifest = (script: string, more: Partial<Manifest> = {}): string =>
  JSON.stringify({ name: script, component: script, saveChain: false, grants: ALL, onError: "pause", limits: {}, ...more });

export interface Stage extends AsyncDisposable {
  readonly engine: Engine;
  readonly guests: Guests;
  readonly sandbox: ScriptedSandbox;
  readonly contents: ContentStore;
  readonly clock: SimulatedClock;
  start(script: string, more?: Partial<Manifest>, initial?: string): Promise<ActorId>;
  state(id: ActorId): Promise<GuestState>;
  /** The guest's own state. */
  own(id: ActorId): Promise<string | undefined>;
  request(id: ActorId, data: string): Promise<Reply>;
  events(id: ActorId): Promise<readonly ChainEvent[]>;
}

export const base64 = (text: string): string => Buffer.from(text).toString("base64");
export const guestMessage = (to: ActorId, action: "send" | "request", data: string): Outgoing => ({
  to,
  action,
  args: { data: base64(data) },
});
/** The text of a reply to a request. */
export const textOf = (reply: Reply): string => {
  const ok: Json = "ok" in reply ? reply.ok : null;
  const data = typeof ok === "object" && ok !== null && "data" in ok ? ok["data"] : undefined;
  return typeof data === "string" ? Buffer.from(data, "base64").toString() : JSON.stringify(reply);
};
/** The text of an argument. */
export const decoded = (value: WitValue): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString() : typeof value === "string" ? value : "";
export const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

export async function stage(
  scripts: Readonly<Record<string, Script>>,
  more: Partial<GuestOptions> & { readonly kinds?: readonly Behaviour[]; readonly store?: Store } = {},
): Promise<Stage> {
  const clock = new SimulatedClock();
  const entropy = more.entropy ?? new SimulatedEntropy();
  const { kinds = [], store = memoryStore({ clock }), ...options } = more;
  const contents = options.contents ?? memoryContents();
  const sandbox = new ScriptedSandbox(scripts);
  const guests = createGuests({
    sandbox,
    contents,
    clock,
    entropy,
    persistence: "disk",
    limits: { callMs: 1_000, memoryBytes: 1_048_576, hostCalls: 1_000, hostBytes: 1_048_576, resultBytes: 1_048_576 },
    manifests: {
      find: async (text) => ({ text }),
      read: (text) => readManifest(text),
      content: async (reference) => bytesOf(reference),
      isTrusted: () => false,
    },
    readComponent: scripted(scripts),
    checkGranted: () => undefined,
    variables: {},
    ...options,
  });
  const engine = await LocalEngine.start({ kinds: [guests.kind, ...kinds], store, clock, entropy });
  const detach = guests.attach(engine, kinds);
  let count = 0;
  return {
    engine,
    guests,
    sandbox,
    contents,
    clock,
    async start(script, given, initial) {
      const to: ActorId = `guest/${script}${(count += 1)}`;
      const message = await guests.prepare({
        to,
        manifest: manifest(script, given),
        ...(initial === undefined ? {} : { initialState: bytesOf(initial) }),
      });
      const reply = await engine.call(message);
      if (!("ok" in reply) || JSON.stringify(reply).includes("failed")) throw new Error(JSON.stringify(reply));
      return to;
    },
    state: (id) => stateOf(engine, id),
    async own(id) {
      const { state } = await stateOf(engine, id);
      const bytes = state === null ? undefined : await contents.get(state);
      return bytes && Buffer.from(bytes).toString();
    },
    request: (id, data) => engine.call(guestMessage(id, "request", data)),
    async events(id) {
      const events: ChainEvent[] = [];
      for await (const event of engine.history(id)) events.push(event);
      return events;
    },
    async [Symbol.asyncDispose]() {
      detach();
      await engine[Symbol.asyncDispose]();
      await contents[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

function readManifest(text: string): Manifest {
  const read: Manifest = { ...JSON.parse(text), text };
  return read;
}

async function stateOf(engine: Engine, id: ActorId): Promise<GuestState> {
  const snapshot = await engine.read(id);
  if (snapshot === undefined) throw new StoreError("STORE_CORRUPT", `${id} is not there.`);
  const state: unknown = snapshot.state;
  assertGuest(state);
  return state;
}

function assertGuest(state: unknown): asserts state is GuestState {
  if (typeof state !== "object" || state === null || !("status" in state)) throw new Error("no guest's state");
}
