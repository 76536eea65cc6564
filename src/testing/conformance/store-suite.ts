// Owns: `storeSuite`, which registers the tests of every `Store`. Does not own: the tests (store-*-suite.ts), those of indexes (index-suite.ts).
import { commitTests } from "./store-commit-suite.ts";
import { expiryTests } from "./store-expiry-suite.ts";
import { historyTests } from "./store-history-suite.ts";
import { type StoreSuiteOptions, storeTests } from "./store-stage.ts";

/** Registers the tests that every `Store` passes, with `node:test`. */
export function storeSuite(name: string, options: StoreSuiteOptions): void {
  const { describe } = process.getBuiltinModule("node:test");
  const tests = storeTests(options);
  describe(name, () => {
    commitTests(tests);
    expiryTests(tests);
    historyTests(tests, options);
  });
}
