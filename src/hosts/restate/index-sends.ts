/** From a committed turn to the parts of indexes that its actor's rows are in. */
import type { IndexChanges, Plan } from "../../core/chain/internal.ts";
import type { ActorId, IndexedRow, Json } from "../../core/contract/index.ts";
import { encodedKeyOf, omitUndefined } from "../../core/contract/internal.ts";
import type { DurableContext } from "./durable-context.ts";
import { definitionHash, partHandler, partOf } from "./index-replica.ts";
import type { RowChange } from "./index-shard.ts";
import type { Names } from "./names.ts";
import type { Place } from "./place.ts";

interface RowsHost {
  readonly names: Names;
  readonly indexes: IndexChanges;
}

/**
 * What a turn changes. The server delivers it once, in the order of the actor's turns; what waits for its part is older than the state, so
 * a query may miss it for a moment.
 */
export function sendChanges(context: DurableContext, host: RowsHost, kind: string, { base, born }: Place, plan: Plan): void {
  const before = { id: plan.id, state: base.state, isAlive: !born };
  for (const { index, after } of host.indexes.changesOf(kind, before, plan) ?? [])
    sendRow(context, host, index, { id: plan.id, seq: plan.seq, row: after, owner: plan.extra.owner });
}

/** Of an actor that came from another place. */
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
