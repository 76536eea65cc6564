import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transferSuite } from "../../testing/conformance/index.ts";
import { sqliteExporter, sqliteImporter } from "./index.ts";

transferSuite("the SQLite store, exported and imported", () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-transfer-"));
  return {
    importer: (clock) => sqliteImporter({ directory, clock }),
    exporter: (clock) => sqliteExporter({ directory, clock }),
    [Symbol.asyncDispose]: async () => rmSync(directory, { recursive: true, force: true }),
  };
});
