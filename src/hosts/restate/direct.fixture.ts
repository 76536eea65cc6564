import assert from "node:assert/strict";
import type { DirectTurns } from "./direct-turns.ts";
import { assertAccepted, type Invoked } from "./journal.fixture.ts";
import type { MapText } from "./map-text.fixture.ts";
import { readInvocation, type InvocationStart } from "./protocol.ts";

/** A message of numbered fields: numbers, texts, and messages in it. */
type Fields = readonly (readonly [field: number, value: number | string | Buffer])[];

function varint(number: number): number[] {
  const bytes = [];
  let rest = number;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  return [...bytes, rest];
}

const message = (fields: Fields): Buffer =>
  Buffer.concat(
    fields.map(([field, value]) => {
      if (typeof value === "number") return Buffer.from([...varint(field * 8), ...varint(value)]);
      const bytes = Buffer.from(value);
      return Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(bytes.length)]), bytes]);
    }),
  );

export function frame(type: number, fields: Fields): Buffer {
  const body = message(fields);
  const head = Buffer.alloc(8);
  head.writeUInt16BE(type, 0);
  head.writeUInt32BE(body.length, 4);
  return Buffer.concat([head, body]);
}

export interface Begun {
  readonly key: string;
  readonly state: ReadonlyMap<string, string>;
  readonly input: unknown;
  /** What follows the input. */
  readonly journal?: readonly Buffer[];
  readonly partial?: boolean;
}

/** As the server starts an attempt. */
export const opening = ({ key, state, input, journal = [], partial = false }: Begun): Buffer =>
  Buffer.concat([
    frame(0, [
      [1, "\u0001an id"],
      [2, "inv_1"],
      [3, 1 + journal.length],
      ...[...state].map(([name, value]): Fields[number] => [
        4,
        message([
          [1, name],
          [2, value],
        ]),
      ]),
      ...(partial ? [[5, 1] as const] : []),
      [6, key],
      [9, 2 ** 60],
    ]),
    frame(0x400, [
      [1, message([[1, "content-type"], [2, "application/json"]])], // prettier-ignore
      [14, message([[1, JSON.stringify(input)]])],
    ]),
    ...journal,
  ]);

/** Fields of a message, all of which have a length. */
function fieldsIn(bytes: Buffer): ReadonlyMap<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = 0; at < bytes.length;) {
    const field = (bytes[at++] ?? 0) >> 3;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      length += (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    found.set(field, bytes.subarray(at, at + length));
    at += length;
  }
  return found;
}

/** A frame of an answer as text: `set <name> <text>`, `output <text>` or `end`. */
export function describeFrame(bytes: Buffer): string {
  const type = bytes.readUInt16BE(0);
  assert.equal(bytes.readUInt32BE(4), bytes.length - 8, "a frame says how long it is");
  const fields = fieldsIn(bytes.subarray(8));
  const content = (field: number): string => String(fieldsIn(fields.get(field) ?? Buffer.alloc(0)).get(1) ?? "");
  if (type === 0x401) return `output ${content(14)}`;
  if (type === 0x403) return `set ${String(fields.get(1))} ${content(3)}`;
  assert.deepEqual([type, bytes.length], [3, 8]);
  return "end";
}

/** A complete start of an invocation. */
export function begunBy(bytes: Buffer): InvocationStart {
  const found = readInvocation(bytes);
  return typeof found === "number" ? assert.fail("An opening is not whole.") : found;
}

interface TurnInvocation {
  readonly path: string;
  readonly key: string;
  readonly keys: MapText;
  readonly input: unknown;
}

/** The server's part: attempts until one ends, each cut after so many of its frames. Undefined if the turn goes to the SDK. */
export async function directly(
  turns: DirectTurns,
  { path, key, keys, input }: TurnInvocation,
  cuts: readonly number[],
): Promise<Invoked | undefined> {
  const journal: Buffer[] = [];
  const effects: string[] = [];
  let outcome: unknown;
  for (let attempts = 1; ; attempts += 1) {
    const frames = await turns.answer(path, begunBy(opening({ key, state: keys.values, input, journal })));
    if (frames === undefined) {
      assert.equal(journal.length, 0, "what was begun here can be ended nowhere else");
      return undefined;
    }
    for (const bytes of frames.slice(0, cuts[attempts - 1] ?? frames.length)) {
      const described = describeFrame(bytes);
      assertAccepted("frame", described);
      if (described === "end") return { outcome, attempts, steps: journal.length, waits: 0, cancelled: false, effects };
      journal.push(bytes);
      if (described.startsWith("output ")) outcome = JSON.parse(described.slice("output ".length));
      else {
        const [, name = "", text = ""] = /^set (\S+) (.*)$/s.exec(described) ?? [];
        keys.write([name, text]);
        effects.push(described);
      }
    }
  }
}
