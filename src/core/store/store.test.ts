import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { indexSuite, storeSuite, type StoreSuiteOptions } from "../../testing/conformance/index.ts";
import { memoryStore, sqliteStore } from "./index.ts";

const inMemory: StoreSuiteOptions = {
  durable: false,
  place: () => ({ open: (clock) => memoryStore({ clock }), [Symbol.dispose]: () => undefined }),
};

const onDisk: StoreSuiteOptions = {
  durable: true,
  place: () => {
    const directory = mkdtempSync(join(tmpdir(), "troupe-store-"));
    return {
      open: (clock) => sqliteStore({ directory, clock }),
      [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
    };
  },
};

storeSuite("the memory store", inMemory);
storeSuite("the SQLite store", onDisk);
indexSuite("indexes of the memory store", inMemory);
indexSuite("indexes of the SQLite store", onDisk);
