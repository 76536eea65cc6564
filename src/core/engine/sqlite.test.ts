import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "../store/index.ts";
import { engineSuite } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

engineSuite("LocalEngine on SQLite", async ({ kinds, clock, entropy, keyMs }) => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-engine-"));
  const open = async (again: typeof kinds) => {
    const store = sqliteStore({ directory, clock });
    const engine = await LocalEngine.start({ store, clock, entropy, kinds: again, ...(keyMs === undefined ? {} : { keyMs }) });
    return { store, engine };
  };
  let opened = await open(kinds);
  const close = async (): Promise<void> => {
    await opened.engine[Symbol.asyncDispose]();
    await opened.store[Symbol.asyncDispose]();
  };
  return {
    engine: opened.engine,
    async reopen(again = kinds) {
      await close();
      opened = await open(again);
      return opened.engine;
    },
    async [Symbol.asyncDispose]() {
      await close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
});
