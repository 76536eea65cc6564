// Guests on a stage of our engine, with all there is beneath to look at.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Verifier } from "../../src/core/chain/index.ts";
import { type ActorId, type ContentStore, type Engine, systemClock, systemEntropy } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { memoryContents, memoryStore, sqliteContents, sqliteStore } from "../../src/core/store/index.ts";
import { EngineStage } from "../../src/bridges/theater/engine/engine-stage.ts";
import type { StageActor } from "../../src/bridges/theater/stage.ts";
import type { TheaterStage } from "../../src/bridges/theater/stage.ts";
import {
  checkGranted,
  createGuests,
  createSandbox,
  type Guests,
  ManifestFinder,
  readComponent,
  type Sandbox,
  type SandboxOptions,
} from "../../src/bridges/wasm/index.ts";
import type { GuestOptions } from "../../src/bridges/wasm/guest-options.ts";

const root = resolve(import.meta.dirname, "../..");
const MEBIBYTE = 1_048_576;

/** Of one of the tests' guests, or of an example's. */
export const componentOf = (name: string): Uint8Array => {
  const place = name === "counter" || name === "chat-room" ? "examples/wasm" : "test/wasm/guests";
  return readFileSync(join(root, place, name, `${name}.wasm`));
};

/** A manifest's text that grants these. */
export const granting = (handlers: readonly string[], more = ""): string =>
  `name = "player"\n${more}\n${handlers.map((type) => `[[handlers]]\ntype = "${type}"\nconfig = {}\n`).join("")}`;

export const ALL = granting(["runtime", "message-server", "supervisor", "store", "timing", "random"]);

export interface GroundsOptions extends Partial<Pick<GuestOptions, "http" | "directory" | "variables">> {
  readonly sandbox?: SandboxOptions;
  readonly limits?: Partial<GuestOptions["limits"]>;
  /** The engine goes by the system's. */
  readonly clock?: GuestOptions["clock"];
  /** Kept there; absent: in memory. */
  readonly data?: string;
}

export interface Grounds extends AsyncDisposable {
  readonly engine: Engine;
  readonly stage: TheaterStage;
  readonly guests: Guests;
  readonly contents: ContentStore;
  readonly sandbox: Sandbox;
  /** With everything granted that needs no place named. */
  start(component: string, name: string, initial?: string): Promise<StageActor>;
  /** What of its chain is wrong; undefined: nothing. */
  flaw(id: ActorId): Promise<string | undefined>;
}

export async function grounds(options: GroundsOptions = {}): Promise<Grounds> {
  const { data, clock = systemClock, http, directory, variables = {} } = options;
  const sandbox = createSandbox({ workers: 2, ...options.sandbox });
  const store = data === undefined ? memoryStore() : sqliteStore({ directory: data });
  const contents = data === undefined ? memoryContents() : sqliteContents(join(data, "content.db"));
  const guests = createGuests({
    sandbox,
    contents,
    clock,
    entropy: systemEntropy,
    persistence: "disk",
    limits: {
      callMs: 100,
      memoryBytes: 64 * MEBIBYTE,
      hostCalls: 10_000,
      hostBytes: 64 * MEBIBYTE,
      resultBytes: 16 * MEBIBYTE,
      ...options.limits,
    },
    manifests: new ManifestFinder({ contents }),
    readComponent,
    checkGranted,
    variables,
    ...(http === undefined ? {} : { http }),
    ...(directory === undefined ? {} : { directory }),
  });
  const engine = await LocalEngine.start({ kinds: [guests.kind], store });
  const detach = guests.attach(engine);
  const stage = new EngineStage({ engine, guests, contents, kinds: [], entropy: systemEntropy });
  return {
    engine,
    stage,
    guests,
    contents,
    sandbox,
    start: (component, name, initial) =>
      stage.start({
        manifest: ALL,
        component: componentOf(component),
        name,
        ...(initial === undefined ? {} : { initialState: bytes(initial) }),
      }),
    async flaw(id) {
      const verifier = new Verifier({ actor: id });
      for await (const event of engine.history(id)) verifier.add(event);
      return verifier.end().flaw?.message;
    },
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]();
      detach();
      await engine[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
      await contents[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const text = (data: Uint8Array | undefined): string | undefined => (data === undefined ? undefined : new TextDecoder().decode(data));
export const never = new AbortController().signal;
