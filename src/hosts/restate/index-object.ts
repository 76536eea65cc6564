// Owns: the virtual object of index parts, as the SDK serves it, and sending the changes of turns to it. Does not own: how a part
// stores rows (index-shard.ts).
import { EngineError, type IndexVerdict, type ActorId, type IndexedRow, type Json } from "../../core/contract/index.ts";
import type { IndexChanges, Plan } from "../../core/chain/internal.ts";
import { encodedKeyOf, omitUndefined } from "../../core/contract/internal.ts";
import * as shard from "./index-shard.ts";
import { RETRY_FOREVER, type SdkDefinition, type ExclusiveContext, type RestateSdk, type SharedContext } from "./sdk.ts";
import { isObject } from "./handler-inputs.ts";
import { WRITE_RETENTION_MS } from "./map-object.ts";
import type { Names } from "./names.ts";
import { guarded } from "./outcome.ts";
import type { DurableContext } from "./durable-context.ts";
import { definitionHash, partHandler, partOf } from "./index-replica.ts";
import type { RowChange } from "./index-shard.ts";
import type { TurnStart } from "./turn-writes.ts";

/** What the object needs of the node that serves it. */
interface IndexHost {
  readonly names: Names;
  /** Rows of that part are about to change: nodes that watch the index update their copies. */
  indexHint(part: string, head: shard.ShardHead): void;
  indexRebuild(name: string): Promise<number>;
  indexVerify(name: string): Promise<IndexVerdict>;
}

export interface IndexObjectOptions {
  readonly sdk: RestateSdk;
  readonly host: IndexHost;
}

/** A rebuild reads all actors of a kind. */
const LONG_MS = 3_600_000;

export function indexObject({ sdk, host }: IndexObjectOptions): SdkDefinition {
  const options = { enableLazyState: true, ...RETRY_FOREVER };
  const { exclusive, shared } = sdk.handlers.object;
  const writing = (run: (context: ExclusiveContext, input: Readonly<Record<string, unknown>>) => Promise<unknown>): unknown =>
    exclusive({ ...options, idempotencyRetention: WRITE_RETENTION_MS }, (context, input) =>
      guarded(() => run(context, isObject(input) ? input : {})),
    );
  const reading = (run: (context: SharedContext, input: Readonly<Record<string, unknown>>) => Promise<unknown>): unknown =>
    shared(options, (context, input) => guarded(() => run(context, isObject(input) ? input : {})));
  return sdk.object({
    name: host.names.index,
    handlers: {
      apply: writing(async (context, { definition, change }) => {
        if (typeof definition !== "string" || !shard.isRowChange(change)) throw badCall();
        const head = await shard.apply(context, definition, change);
        if (head !== undefined) host.indexHint(context.key, head);
        return null;
      }),
      put: writing(async (context, input) => {
        if (!shard.isPut(input)) throw badCall();
        const head = await shard.putAll(context, input.epoch, input.changes);
        if (head !== undefined) host.indexHint(context.key, head);
        return head ?? null;
      }),
      declare: writing((context, { definition, epoch, anew }) => {
        if (typeof definition !== "string" || typeof epoch !== "string") throw badCall();
        return shard.declare(context, { definition, epoch, anew: anew === true });
      }),
      claim: writing((context, { by, now, until }) => {
        if (typeof by !== "string" || typeof now !== "number" || typeof until !== "number") throw badCall();
        return shard.claim(context, { by, now, until });
      }),
      complete: writing((context, { epoch }) => shard.complete(context, String(epoch))),
      drop: writing(async (context) => context.clearAll()),
      pull: reading((context, { epoch, version }) =>
        shard.pull(context, { epoch: String(epoch), version: typeof version === "number" ? version : 0 }),
      ),
      list: reading((context, { after }) => shard.list(context, typeof after === "string" ? after : undefined)),
      // For commands, which do not have the code of the kinds.
      rebuild: shared({ ...options, inactivityTimeout: LONG_MS, abortTimeout: LONG_MS }, (context) =>
        guarded(() => host.indexRebuild(nameIn(context.key))),
      ),
      verify: shared({ ...options, inactivityTimeout: LONG_MS, abortTimeout: LONG_MS }, (context) =>
        guarded(() => host.indexVerify(nameIn(context.key))),
      ),
    },
  });
}

/** The index name in the key of one of its parts. */
const nameIn = (key: string): string => key.slice(0, key.lastIndexOf("/"));

const badCall = (): EngineError =>
  new EngineError("BAD_ID", "This is no call of an index that this version understands: register the deployment that fits.");

interface RowsHost {
  readonly names: Names;
  readonly indexes: IndexChanges;
}

/**
 * Sends the row changes of a turn. The server delivers them once, in the order of the actor's turns. They arrive after the state, so a
 * query may miss a change for a moment.
 */
export function sendChanges(context: DurableContext, host: RowsHost, kind: string, { base, born }: TurnStart, plan: Plan): void {
  const before = { id: plan.id, state: base.state, isAlive: !born };
  for (const { index, after } of host.indexes.changesOf(kind, before, plan) ?? [])
    sendRow(context, host, index, { id: plan.id, seq: plan.seq, row: after, owner: plan.extra.owner });
}

/** Sends the rows of an imported actor. */
export function sendRows(
  context: DurableContext,
  host: RowsHost,
  kind: string,
  {
    id,
    seq,
    owner,
    state,
    version,
  }: { readonly id: ActorId; readonly seq: number; readonly owner: string | undefined; readonly state: Json; readonly version: number },
): void {
  for (const { index, row } of host.indexes.rowsOf(kind, id, { state, version })) sendRow(context, host, index, { id, seq, row, owner });
}

function sendRow(
  context: DurableContext,
  { names, indexes }: RowsHost,
  name: string,
  {
    id,
    seq,
    row,
    owner,
  }: { readonly id: ActorId; readonly seq: number; readonly row: IndexedRow | undefined; readonly owner: string | undefined },
): void {
  const of = indexes.byName.get(name);
  if (of === undefined) return;
  const key = encodedKeyOf(id);
  const change: RowChange = { key, seq, row: row ?? null, ...omitUndefined({ owner }) };
  context.send(partHandler(names, partOf(name, key), "apply"), { definition: definitionHash(of.index), change });
}
