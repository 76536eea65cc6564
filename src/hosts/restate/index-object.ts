/** Indexes over the contents of actors as the SDK serves them: one virtual object for each part of each index, and what only code can do. */
import { EngineError, type IndexVerdict } from "../../core/contract/index.ts";
import { UNTIL_DONE } from "./handler-options.ts";
import * as shard from "./index-shard.ts";
import { isObject } from "./is-object.ts";
import { WRITE_KEY_MS } from "./map-object.ts";
import type { Names } from "./names.ts";
import { settled } from "./outcome.ts";
import type { Defined, ExclusiveContext, RestateSdk, SharedContext } from "./sdk.ts";

/** What the object needs of the node that serves it. */
interface IndexHost {
  readonly names: Names;
  /** Rows of that part are about to change: the nodes that watch the index update their copies. */
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

export function indexObject({ sdk, host }: IndexObjectOptions): Defined {
  const options = { enableLazyState: true, ...UNTIL_DONE };
  const { exclusive, shared } = sdk.handlers.object;
  const writing = (run: (context: ExclusiveContext, input: Readonly<Record<string, unknown>>) => Promise<unknown>): unknown =>
    exclusive({ ...options, idempotencyRetention: WRITE_KEY_MS }, (context, input) =>
      settled((async () => run(context, isObject(input) ? input : {}))()),
    );
  const reading = (run: (context: SharedContext, input: Readonly<Record<string, unknown>>) => Promise<unknown>): unknown =>
    shared(options, (context, input) => settled((async () => run(context, isObject(input) ? input : {}))()));
  return sdk.object({
    name: host.names.index,
    handlers: {
      apply: writing(async (context, { definition, change }) => {
        if (typeof definition !== "string" || !shard.isRowChange(change)) throw none();
        const head = await shard.apply(context, definition, change);
        if (head !== undefined) host.indexHint(context.key, head);
        return null;
      }),
      put: writing(async (context, input) => {
        if (!shard.isPut(input)) throw none();
        const head = await shard.putAll(context, input.epoch, input.changes);
        if (head !== undefined) host.indexHint(context.key, head);
        return head ?? null;
      }),
      declare: writing((context, { definition, epoch, anew }) => {
        if (typeof definition !== "string" || typeof epoch !== "string") throw none();
        return shard.declare(context, { definition, epoch, anew: anew === true });
      }),
      claim: writing((context, { by, now, until }) => {
        if (typeof by !== "string" || typeof now !== "number" || typeof until !== "number") throw none();
        return shard.claim(context, { by, now, until });
      }),
      complete: writing((context, { epoch }) => shard.complete(context, String(epoch))),
      drop: writing(async (context) => context.clearAll()),
      pull: reading((context, { epoch, version }) =>
        shard.pull(context, { epoch: String(epoch), version: typeof version === "number" ? version : 0 }),
      ),
      list: reading((context, { after }) => shard.list(context, typeof after === "string" ? after : undefined)),
      // For commands, which have no code of the kinds.
      rebuild: shared({ ...options, inactivityTimeout: LONG_MS, abortTimeout: LONG_MS }, (context) =>
        settled(host.indexRebuild(nameIn(context.key))),
      ),
      verify: shared({ ...options, inactivityTimeout: LONG_MS, abortTimeout: LONG_MS }, (context) =>
        settled(host.indexVerify(nameIn(context.key))),
      ),
    },
  });
}

/** Of the key of one of its parts. */
const nameIn = (key: string): string => key.slice(0, key.lastIndexOf("/"));

const none = (): EngineError =>
  new EngineError("BAD_ID", "This is no call of an index that this version understands: register the deployment that fits.");
