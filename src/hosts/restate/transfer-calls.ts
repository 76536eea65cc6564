import { pendingReply } from "../../core/chain/internal.ts";
import { StoreError, type ActorId, type KeyedCall } from "../../core/contract/index.ts";
import type { Whole } from "./transfer-actor.ts";
import { areReplies, isArchivedCalls } from "./transfer-archive.ts";
import { strange, type TransferClient } from "./transfer-client.ts";

const KEYS = 64;
/** As keyed replies are kept by default: how long a call that is due is looked for by its key. */
const DUE_MS = 24 * 3_600_000;

/** C4: keyed calls that have not expired, by the bytes of their keys: what is due, then what was answered, here or in the archive. */
export async function* callsOf(
  client: TransferClient,
  id: ActorId,
  { row, replies, archived }: Whole,
  now: number,
): AsyncGenerator<KeyedCall> {
  const calls = new Map<string, KeyedCall | undefined>();
  for (const one of Object.values(row.pending)) {
    const { key, call = "" } = pendingReply(one);
    if (key !== undefined) calls.set(key, { key, call, until: row.lastMessageAt + DUE_MS });
  }
  for (let from: number | null | undefined = archived ? null : undefined; from !== undefined;) {
    const old: unknown = await client.ask(client.names.archive(id, "calls"), from);
    if (!isArchivedCalls(old)) throw strange(id);
    for (const call of old.due) calls.set(call.key, call);
    for (const [key, until] of old.keys) if (until > now) calls.set(key, undefined);
    from = old.next;
  }
  for (const { key, call, until, reply } of replies) calls.set(key, { key, call, until, reply });
  const keys = [...calls.keys()].filter((key) => !isAnswer(key)).map((key) => ({ key, bytes: Buffer.from(key) }));
  keys.sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  const archivedFrom = (at: number): readonly string[] => {
    const some: string[] = [];
    for (let n = at; n < keys.length && some.length < KEYS; n += 1) {
      const { key } = keys[n] ?? { key: "" };
      if (calls.get(key) === undefined) some.push(key);
    }
    return some;
  };
  let next: KeyedCall[] = [];
  for (const [at, { key }] of keys.entries()) {
    let call = calls.get(key);
    if (call === undefined) {
      if (next.length === 0) next = await archivedReplies(client, id, archivedFrom(at));
      call = next.shift();
    }
    if (call !== undefined && call.until > now) yield call;
  }
}

async function archivedReplies(client: TransferClient, id: ActorId, keys: readonly string[]): Promise<KeyedCall[]> {
  const answer = await client.ask(client.names.archive(id, "replies"), keys);
  if (!areReplies(answer) || answer.length === 0) throw strange(id);
  return answer.map((kept) => {
    if (kept === null)
      throw new StoreError("STORE_CORRUPT", `A reply of ${id} is missing in its archive: restore the Restate server's data from a copy.`);
    const { key, call, until, reply } = kept;
    return { key, call, until, reply };
  });
}

/** To a caller who was told "later" and waits: no call's key. */
const isAnswer = (key: string): boolean => /^later [^\n]*$/.test(key);
