// Names that every object inherits, as keys of two levels in any outside data, are data or are refused.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { actor } from "../src/core/actor/index.ts";
import { readDump } from "../src/core/chain/index.ts";
import { canonical, getOwn } from "../src/core/contract/internal.ts";
import type { JsonObject, Json } from "../src/core/contract/index.ts";
import { capability, readConfig, readPacket, RefusedPacket } from "../src/bridges/packet/index.ts";
import { packetTest } from "../src/testing/packets/index.ts";
import { type TestClient, testServer } from "../src/testing/index.ts";
import { readManifest } from "../src/bridges/wasm/manifest/read-manifest.ts";
import { parseWorld } from "../examples/mud/world/load.ts";

const KEYS = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "plain"] as const;
const INTRINSICS = [Object, Array, Function, String, Promise, Map, JSON, Reflect].flatMap((one) =>
  "prototype" in one ? [one, one.prototype] : [one],
);

const members = (): unknown[] =>
  INTRINSICS.map((one) => Reflect.ownKeys(one).map((key) => [key, Object.getOwnPropertyDescriptor(one, key)]));

const key = fc.constantFrom(...KEYS);
const pairs = fc.tuple(key, key, fc.constantFrom<Leaf>(1, "principal", true, null));

/** An object of two levels with own members of any name. */
const nested = (one: string, other: string, value: Leaf): Json =>
  JSON.parse(`{${JSON.stringify(one)}:{${JSON.stringify(other)}:${JSON.stringify(value)}}}`);

/** Runs `act` with every pair of names, and checks that no shared prototype has changed. */
async function unharmed(act: (one: string, other: string, value: Leaf) => unknown): Promise<void> {
  const before = members();
  await fc.assert(
    fc.asyncProperty(pairs, async ([one, other, value]) => {
      await act(one, other, value);
      assert.deepEqual(members(), before);
    }),
    { numRuns: 120, seed: 28 },
  );
}

const text = { type: "string" } as const;
/** A JSON Schema, since zod itself drops members called `__proto__`. */
const taking = (properties: JsonObject): object => ({ type: "object", properties });

type Leaf = string | number | boolean | null;

interface Board {
  readonly rows: Record<string, Record<string, Leaf>>;
}

const board = actor("board", {
  description: "Rows of fields, both named by the caller.",
  per: "shared",
  persistence: "memory",
  initial: (): Board => ({ rows: {} }),
  tools: {
    put: {
      description: "Sets a field.",
      input: taking({ row: text, field: text, value: {} }),
      run({ state, args }) {
        const { row, field, value }: { row: string; field: string; value: Leaf } = Object(args);
        state.rows[row] ??= {};
        const fields = state.rows[row];
        if (fields !== undefined) fields[field] = value;
      },
    },
    get: {
      description: "Reads a field.",
      input: taking({ row: text, field: text }),
      view({ state, args }) {
        const { row, field }: { row: string; field: string } = Object(args);
        const fields = getOwn(state.rows, row);
        return fields === undefined ? null : (getOwn(fields, field) ?? null);
      },
    },
    echo: { description: "Returns what it is given.", input: taking({ given: {} }), run: ({ args }) => ({ given: Object(args).given }) },
  },
});

const echoed = async (client: TestClient, given: Json): Promise<string> => {
  const { content } = await client.callTool("echo", { given });
  const [first] = content ?? [];
  return typeof first?.["text"] === "string" ? first["text"] : "";
};

describe("names that every object inherits change no prototype", () => {
  for (const era of ["legacy", "modern"] as const)
    test(`in drafts, arguments, replies and metadata (${era})`, async () => {
      await using server = await testServer([board]);
      const client = server.client({ era });
      await unharmed(async (one, other, value) => {
        const given = nested(one, other, value);
        assert.equal(canonical(JSON.parse(await echoed(client, given)).given), canonical(given));
        await client.callTool("put", { row: one, field: other, value });
        const { content } = await client.callTool("get", { row: one, field: other });
        const [first] = content ?? [];
        assert.ok(first !== undefined && "text" in first);
        assert.equal(first.text, typeof value === "string" ? value : value === null ? "null" : JSON.stringify(value));
        await client.request("tools/call", { name: "echo", arguments: { given: 1 } }, { meta: Object(given) });
        await assert.rejects(client.callTool(one, {}), { code: -32602 });
        await assert.rejects(client.request(one, {}), { code: -32601 });
      });
    });

  test("in packets and the capabilities they reach", async () => {
    const echo = capability("echo", { intent: "Echoes.", requires: ["given"], execute: ({ given }) => ({ given }) });
    await using kit = await packetTest({ capabilities: [echo] });
    await unharmed(async (one, other, value) => {
      const given = nested(one, other, value);
      const answer = await kit.executeMcpRequest(kit.mcpToolCall("echo", { given, ...Object(given) }));
      assert.ok("result" in answer, JSON.stringify(answer));
      for (const packet of [{ ...Object(given) }, { kind: "call", data: given, context: given }]) {
        const read = readPacket(JSON.stringify(packet));
        assert.ok(read instanceof RefusedPacket);
      }
    });
    assert.deepEqual(kit.faults, []);
  });

  test("in configuration, manifests, worlds and exports", async () => {
    const refused: string[] = [];
    const read = async (what: string, reader: () => unknown): Promise<void> => {
      try {
        await reader();
      } catch (error) {
        assert.ok(error instanceof Error && !(error instanceof TypeError), `${what}: ${String(error)}`);
        refused.push(what);
      }
    };
    await unharmed(async (one, other, value) => {
      const given = nested(one, other, value);
      await read("configuration", () => readConfig(given));
      await read("configuration", () => readConfig({ actors: given, mcp: { servers: given } }));
      await read("manifest", () => readManifest(`name = "x"\n["${one}"]\n"${other}" = ${value === null ? '""' : JSON.stringify(value)}\n`));
      await read("world", () => parseWorld(`${JSON.stringify(one)}: {${JSON.stringify(other)}: ${JSON.stringify(value)}}\n`, "world.yaml"));
      const line = new TextEncoder().encode(`${JSON.stringify(given)}\n`);
      await read("export", () => readDump(chunksOf(line), () => Promise.reject(new Error("nothing is imported"))));
    });
    assert.deepEqual([...new Set(refused)].toSorted(), ["configuration", "export", "world"]);
  });
});

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}
