import assert from "node:assert/strict";
import { test } from "node:test";
import { component } from "../component/component.fixture.ts";
import { readComponent } from "../component/read-component.ts";
import { WasmError } from "../wasm-error.ts";
import { IMPORTS } from "../component/world.ts";
import { checkGranted } from "./grants.ts";

const { timing, runtime, "message-server-host": messages } = IMPORTS;
const read = readComponent(
  component({
    imports: {
      "theater:simple/timing": timing,
      "theater:simple/runtime": { log: runtime.log },
      "theater:simple/message-server-host": { send: messages.send, request: messages.request },
    },
  }),
);

void test("the imports of a component determine the handlers that its manifest must list", () => {
  assert.doesNotThrow(() => checkGranted(readComponent(component({})), {}));
  const all = Object.fromEntries(Object.entries(IMPORTS).map(([name, functions]) => [`theater:simple/${name}`, functions]));
  assert.throws(
    () => checkGranted(readComponent(component({ imports: all })), {}),
    (error: unknown) => {
      const handlers = Array.from(String(error).matchAll(/type = "(.*)"/g), ([, handler = ""]) => handler);
      assert.deepEqual(
        handlers.toSorted(),
        Object.keys(IMPORTS)
          .map((name) => (name === "message-server-host" ? "message-server" : name))
          .toSorted(),
      );
      return true;
    },
  );
});

void test("the error for a missing grant names it, the functions that need it, and the TOML to add", () => {
  assert.doesNotThrow(() => checkGranted(read, { runtime: true, messageServer: true, timing: { minSleepMs: 1, maxSleepMs: 1_000 } }));
  assert.throws(
    () => checkGranted(read, { runtime: true }),
    (error: unknown) => {
      assert.ok(error instanceof WasmError);
      assert.equal(error.code, "NOT_GRANTED");
      assert.match(
        error.message,
        /theater:simple\/timing \(now, sleep, deadline\) and theater:simple\/message-server-host \(send, request\)/,
      );
      assert.match(error.message, /\[\[handlers\]\]\ntype = "timing"\n\n\[\[handlers\]\]\ntype = "message-server"\n$/);
      return true;
    },
  );
});
