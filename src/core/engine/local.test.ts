import type { Store } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { engineSuite } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

engineSuite("LocalEngine on a memory store", async ({ kinds, clock, entropy, keyMs }) => {
  const store: Store = memoryStore({ clock });
  const options = { store, clock, entropy, ...(keyMs === undefined ? {} : { keyMs }) };
  let engine = await LocalEngine.start({ ...options, kinds });
  return {
    engine,
    async reopen(again = kinds) {
      await engine[Symbol.asyncDispose]();
      engine = await LocalEngine.start({ ...options, kinds: again });
      return engine;
    },
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
});
