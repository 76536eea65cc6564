import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { actor } from "../../../core/actor/index.ts";
import { systemClock, systemEntropy } from "../../../core/contract/index.ts";
import { LocalEngine } from "../../../core/engine/index.ts";
import { memoryContents, memoryStore } from "../../../core/store/index.ts";
import { checkGranted, createGuests, createSandbox, GUEST_LIMITS, ManifestFinder, readComponent } from "../../wasm/index.ts";
import { EngineStage } from "./engine-stage.ts";

const root = resolve(import.meta.dirname, "../../../..");
const guestDirectory = join(root, "test/wasm/guests");
const hall = actor("hall", {
  description: "A hall.",
  per: "link",
  autoStart: true,
  state: z.object({ heard: z.number().default(0) }),
  tools: {
    call: {
      description: "Call into it.",
      enabled: ({ state: { heard } }) => heard < 1 || "It echoes still.",
      run({ state, viewer }) {
        state.heard += 1;
        return `It echoes for ${viewer.self ?? "nobody"}.`;
      },
    },
  },
});

const door = actor("door", {
  description: "A door.",
  per: "handle",
  state: z.object({ open: z.boolean().default(false) }),
  links: { "": { kinds: ["hall"], to: ({ state: { open } }) => (open ? "hall/main" : undefined) } },
  tools: {
    push: {
      description: "Push it.",
      run({ state }) {
        state.open = true;
        return "It opens.";
      },
    },
  },
});

export const manifest = (handlers: readonly string[], more = ""): string =>
  `name = "player"\ncomponent = "player.wasm"\n${more}\n${handlers.map((type) => `[[handlers]]\ntype = "${type}"\nconfig = {}`).join("\n")}\n`;

/** An engine with guests and a door, as a stage. */
export async function openStage() {
  const store = memoryStore();
  const contents = memoryContents();
  const sandbox = createSandbox({ workers: 1 });
  const guests = createGuests({
    sandbox,
    contents,
    clock: systemClock,
    entropy: systemEntropy,
    persistence: "disk",
    limits: { ...GUEST_LIMITS, callMs: 500 },
    manifests: new ManifestFinder({ contents, directory: guestDirectory }),
    readComponent,
    checkGranted,
    variables: {},
  });
  const engine = await LocalEngine.start({ kinds: [guests.kind, door, hall], store });
  const detach = guests.attach(engine);
  const stage = new EngineStage({ engine, guests, kinds: [door, hall] });
  return {
    engine,
    stage,
    contents,
    guests,
    wasm: (name: string): Uint8Array => readFileSync(join(guestDirectory, name, `${name}.wasm`)),
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]();
      detach();
      await engine[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}
