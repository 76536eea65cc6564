import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeSuite } from "../../testing/conformance/index.ts";
import { memoryStore, sqliteStore } from "./index.ts";

storeSuite("the memory store", {
  durable: false,
  place: () => ({ open: (clock) => memoryStore({ clock }), [Symbol.dispose]: () => undefined }),
});

storeSuite("the SQLite store", {
  durable: true,
  place: () => {
    const directory = mkdtempSync(join(tmpdir(), "troupe-store-"));
    return {
      open: (clock) => sqliteStore({ directory, clock }),
      [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
    };
  },
});
