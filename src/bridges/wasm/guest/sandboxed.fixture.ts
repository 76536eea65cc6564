/** Real guests: components of the examples and of the tests, run in the sandbox. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { ActorId, ContentStore, Engine, Reply } from "../../../core/contract/index.ts";
import { LocalEngine } from "../../../core/engine/index.ts";
import { memoryContents, memoryStore } from "../../../core/store/index.ts";
import { SimulatedEntropy } from "../../../testing/index.ts";
import { systemClock } from "../../../core/contract/index.ts";
import { createGuests, type Guests } from "../guests.ts";
import type { GuestOptions } from "../guest-options.ts";
import { ManifestFinder } from "../manifest/manifest-finder.ts";
import { createSandbox } from "../pool/guest-pool.ts";
import { readComponent } from "../component/read-component.ts";
import { checkGranted } from "../manifest/grants.ts";
import type { Sandbox } from "../sandbox.ts";
import { bytesOf, guestMessage } from "./stage.fixture.ts";

const top = resolve(import.meta.dirname, "../../../..");
export const componentOf = (name: string): Uint8Array =>
  readFileSync(resolve(top, name.startsWith("examples/") ? name : `test/wasm/guests/${name}`, `${name.split("/").at(-1)}.wasm`));

const HANDLERS = ["runtime", "message-server", "supervisor", "store", "timing", "random", "environment", "filesystem", "http-client"];

/** The text of a manifest with all grants that inline manifests may have. */
export const granting = (name: string, more = ""): string =>
  `name = "${name}"\n${more}\n${HANDLERS.map((type) => `[[handler]]\ntype = "${type}"\n`).join("")}`;

export interface Sandboxed extends AsyncDisposable {
  readonly engine: Engine;
  /** Appends an operator's event. */
  readonly append: LocalEngine["append"];
  readonly guests: Guests;
  readonly contents: ContentStore;
  readonly sandbox: Sandbox;
  start(name: string, initial?: string, more?: string): Promise<ActorId>;
  send(id: ActorId, data: string): Promise<Reply>;
  request(id: ActorId, data: string): Promise<Reply>;
}

export const LIMITS = {
  callMs: 2_000,
  memoryBytes: 16 * 1_048_576,
  hostCalls: 10_000,
  hostBytes: 16 * 1_048_576,
  resultBytes: 4 * 1_048_576,
};

export async function sandboxed(more: Partial<GuestOptions> = {}): Promise<Sandboxed> {
  const sandbox = createSandbox({ workers: 2 });
  const contents = memoryContents();
  const store = memoryStore();
  const guests = createGuests({
    sandbox,
    contents,
    clock: systemClock,
    entropy: new SimulatedEntropy(),
    persistence: "disk",
    limits: LIMITS,
    manifests: new ManifestFinder({ contents }),
    readComponent,
    checkGranted,
    variables: {},
    ...more,
  });
  const engine = await LocalEngine.start({ kinds: [guests.kind], store });
  guests.attach(engine);
  let count = 0;
  return {
    engine,
    append: engine.append.bind(engine),
    guests,
    contents,
    sandbox,
    async start(name, initial, extra) {
      const to: ActorId = `guest/${name.split("/").at(-1)}-${(count += 1)}`;
      const state = initial === undefined ? {} : { initialState: bytesOf(initial) };
      const message = await guests.prepare({ to, manifest: granting(name, extra), component: componentOf(name), ...state });
      const reply = await engine.call(message);
      if (JSON.stringify(reply).includes("failed")) throw new Error(JSON.stringify(reply));
      return to;
    },
    send: (id, data) => engine.call(guestMessage(id, "send", data)),
    request: (id, data) => engine.call(guestMessage(id, "request", data)),
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
      await contents[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}
