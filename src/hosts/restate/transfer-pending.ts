/**
 * Messages on their way. On the server these are invocations that have not ended; its admin API tells them and what they were
 * called with, also of those that wait for another, or for a time.
 */
import { StoreError, type Undelivered } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { Admin } from "./admin.ts";
import { isTurnInput } from "./inputs.ts";
import { isObject } from "./is-object.ts";
import type { TransferClient } from "./transfer-client.ts";

const BATCH = 64;

interface Begun {
  readonly id: string;
  readonly at: string;
}

/** By the time they were sent; those of one sender in the order it sent them. */
export async function* pending(client: TransferClient): AsyncGenerator<Undelivered> {
  const api = new Admin(client.admin, client.names);
  const begun = (await api.pending("deliver")).flatMap(begunIn);
  begun.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  for (let from = 0; from < begun.length;) {
    let until = Math.min(begun.length, from + BATCH);
    // Those of one moment are told apart by what they hold.
    while (until < begun.length && begun[until]?.at === begun[until - 1]?.at) until += 1;
    const batch = begun.slice(from, until);
    from = until;
    const inputs = new Map<string, Undelivered>();
    for (let at = 0; at < batch.length; at += BATCH) {
      const rows = await api.inputs(batch.slice(at, at + BATCH).map(({ id }) => id));
      for (const row of rows) {
        const [id, payload] = payloadIn(row);
        const input = client.open(payload);
        if (!isTurnInput(input)) throw unreadable(id);
        inputs.set(id, { message: input.message, failures: input.failures ?? 0 });
      }
    }
    // What has ended since is not there any more.
    const left = batch.flatMap(({ id, at }) => {
      const undelivered = inputs.get(id);
      return undelivered === undefined ? [] : [{ at, undelivered, place: placeOf(undelivered.message.id) }];
    });
    left.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : compare(one.place, other.place)));
    for (const { undelivered } of left) yield undelivered;
  }
}

type Placed = readonly [life: string, seq: number, n: number];

/** Ids of what turns sent are `life.seq.n`. */
function placeOf(id: string): Placed {
  const [, life, seq, n] = /^(.*)\.(\d+)\.(\d+)$/s.exec(id) ?? [];
  return [life ?? id, Number(seq ?? 0), Number(n ?? 0)];
}

const compare = ([life, seq, n]: Placed, [otherLife, otherSeq, otherN]: Placed): number =>
  life < otherLife ? -1 : life > otherLife ? 1 : seq - otherSeq || n - otherN;

const begunIn = (row: unknown): readonly Begun[] =>
  isObject(row) && typeof row["id"] === "string" && typeof row["created_at"] === "string" ? [{ id: row["id"], at: row["created_at"] }] : [];

/** Of the journal's first entry: `{Command: {Input: {payload: bytes}}}`. */
function payloadIn(row: unknown): readonly [id: string, payload: unknown] {
  if (!isObject(row) || typeof row["id"] !== "string" || typeof row["entry_json"] !== "string") throw unreadable("?");
  const { id, entry_json: text } = row;
  const entry = tryParseJson(text);
  const command = isObject(entry) ? entry["Command"] : undefined;
  const input = isObject(command) ? command["Input"] : undefined;
  const payload = isObject(input) ? input["payload"] : undefined;
  if (!Array.isArray(payload) || !payload.every((byte) => Number.isInteger(byte))) throw unreadable(id);
  return [id, tryParseJson(Buffer.from(payload).toString("utf8"))];
}

const unreadable = (id: string): StoreError =>
  new StoreError(
    "STORE_CORRUPT",
    `Invocation ${id} delivers a message that this version cannot read: wait until "deliver" has ended everywhere, then export again.`,
  );
