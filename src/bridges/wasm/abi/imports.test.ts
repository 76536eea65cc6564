import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import type { ImportName } from "../component/world.ts";
import { CALL } from "./guest.fixture.ts";
import { GuestRandom, isLocalImport, localAnswers, type LocalContext } from "./imports.ts";

const answers = (facts: Partial<LocalContext> = {}) => localAnswers({ ...CALL, ...facts });

suite("imports answered in the worker", () => {
  test("are exactly the pure ones", () => {
    const pure: readonly ImportName[] = [
      "runtime.log",
      "runtime.get-state",
      "message-server-host.list-outstanding-requests",
      "supervisor.list-children",
      "timing.now",
      "random.random-bytes",
      "random.random-range",
      "random.random-float",
      "random.generate-uuid",
      "environment.get-var",
      "environment.list-vars",
      "environment.exists",
    ];
    const others: readonly ImportName[] = ["runtime.get-chain", "runtime.shutdown", "timing.sleep", "supervisor.spawn", "store.get"];
    assert.deepEqual(
      pure.map(isLocalImport),
      pure.map(() => true),
    );
    assert.deepEqual(
      others.map(isLocalImport),
      others.map(() => false),
    );
  });

  test("return the data of the call", () => {
    const state = Uint8Array.of(1);
    const ask = answers({ state, outstanding: ["r1"], children: ["c1", "c2"] });
    assert.equal(ask("runtime.log", ["line"]), undefined);
    assert.equal(ask("runtime.get-state", []), state);
    assert.equal(ask("timing.now", []), 1_745_424_600_000n);
    assert.deepEqual(ask("message-server-host.list-outstanding-requests", []), ["r1"]);
    assert.deepEqual(ask("supervisor.list-children", []), ["c1", "c2"]);
  });

  test("return the given variables, list them only if permitted, and hide the host's objects", () => {
    const variables = { HOME: "/home/guest", EMPTY: "" };
    const ask = answers({ variables });
    assert.equal(ask("environment.get-var", ["HOME"]), "/home/guest");
    assert.equal(ask("environment.get-var", ["EMPTY"]), "");
    assert.equal(ask("environment.exists", ["EMPTY"]), true);
    for (const name of ["PATH", "constructor", "__proto__"]) {
      assert.equal(ask("environment.get-var", [name]), undefined);
      assert.equal(ask("environment.exists", [name]), false);
    }
    assert.deepEqual(ask("environment.list-vars", []), [
      ["HOME", "/home/guest"],
      ["EMPTY", ""],
    ]);
    assert.deepEqual(answers({ variables, listVariables: false })("environment.list-vars", []), []);
  });

  test("refuse randomness beyond what is granted", () => {
    const ask = answers({ random: { maxBytes: 4, maxInt: 10n } });
    assert.deepEqual(ask("random.random-bytes", [5]), { err: "At most 4 random bytes at a time: ask for fewer." });
    assert.deepEqual(ask("random.random-range", [3n, 3n]), { err: "The range is empty: min must be below max." });
    assert.deepEqual(ask("random.random-range", [3n, 11n]), { err: "The range ends above 10: choose a smaller max." });
    assert.deepEqual(answers()("random.random-bytes", [1_048_577]), { err: "At most 1048576 random bytes at a time: ask for fewer." });
    assert.deepEqual(answers()("random.random-range", [0n, 2n ** 63n]), {
      err: `The range ends above ${2n ** 63n - 1n}: choose a smaller max.`,
    });
  });

  test("law 4: give the same random numbers for the same seed and order of calls", () => {
    const drawn = (seed: string) => {
      const ask = answers({ seed });
      return [
        ask("random.random-bytes", [5]),
        ask("random.random-range", [10n, 1000n]),
        ask("random.random-float", []),
        ask("random.generate-uuid", []),
        ask("random.random-bytes", [100]),
      ];
    };
    assert.deepEqual(drawn("00".repeat(16)), drawn("00".repeat(16)));
    for (const [index, one] of drawn("00".repeat(16)).entries()) assert.notDeepEqual(one, drawn("01".repeat(16))[index]);
  });
});

suite("a guest's randomness", () => {
  const block = (counter: number) => createHash("sha256").update(`${CALL.seed}:${counter}`).digest();

  test("is SHA-256 of the seed and a counter, read as one stream", () => {
    const random = new GuestRandom(CALL.seed);
    const parts = [random.bytes(3), random.bytes(0), random.bytes(60), random.bytes(1)];
    assert.deepEqual(Buffer.concat(parts), Buffer.concat([block(0), block(1)]));
  });

  test("stays in its range", () => {
    const random = new GuestRandom(CALL.seed);
    const u63 = fc.bigInt(0n, 2n ** 63n - 1n);
    fc.assert(
      fc.property(u63, u63, (one, other) => {
        fc.pre(one !== other);
        const [min, max] = one < other ? [one, other] : [other, one];
        const drawn = random.range(min, max);
        assert.ok(min <= drawn && drawn < max);
        const float = random.float();
        assert.ok(float >= 0 && float < 1);
        assert.match(random.uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      }),
    );
    assert.deepEqual(
      Array.from(new Set(Array.from({ length: 100 }, () => random.range(0n, 3n)))).toSorted((one, other) => Number(one - other)),
      [0n, 1n, 2n],
    );
  });
});
