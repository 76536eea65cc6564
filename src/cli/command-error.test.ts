import assert from "node:assert/strict";
import { test } from "node:test";
import { actor } from "../core/actor/index.ts";
import { LocalEngine } from "../core/engine/index.ts";
import { memoryStore } from "../core/store/index.ts";
import { rewordForCommands } from "./command-error.ts";

test("a call whose actor has stopped may begin another life, but not one whose work was stopped", async () => {
  const started = Promise.withResolvers<void>();
  const mill = actor("mill", {
    description: "Grinds.",
    per: "link",
    initial: () => ({}),
    tools: {
      grind: {
        description: "Grind.",
        work() {
          started.resolve();
          return new Promise<string>(() => undefined);
        },
      },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [mill], store: memoryStore() });
  await engine.call({ to: "mill/a", action: "troupe/begin", args: null, start: null });
  const messageOf = async (): Promise<string> => {
    const error: unknown = await engine.call({ to: "mill/a", action: "tools/grind", args: {} }).catch((thrown: unknown) => thrown);
    return String(rewordForCommands(error, "call", "mill/a"));
  };
  const working = messageOf();
  await started.promise;
  await engine.stop("mill/a", "enough");
  assert.match(await working, /was stopped while it worked/);
  assert.doesNotMatch(await working, /--start/);
  assert.match(await messageOf(), /has stopped: add --start to begin another life/);
});
