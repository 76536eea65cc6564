import { randomBytes } from "node:crypto";
import type { Engine, Source } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import { derivedKey } from "../core/store/secret-file.ts";
import { cast, type CastOptions, merge, type NameStyle, prefix } from "../mcp/source/index.ts";
import { checkNames } from "../mcp/source/merge.ts";
import { faultFields } from "./fault-fields.ts";
import type { Loaded } from "./load.ts";
import type { ServerLog } from "./log.ts";

export interface Assembling {
  readonly engine: Engine;
  readonly names: NameStyle | undefined;
  readonly log: ServerLog;
  /** Faults are told with all they say. */
  readonly inFull: boolean;
  readonly handles: CastOptions["handles"];
  /** As MCP has them. */
  readonly capabilities: Source | undefined;
}

/** Signs handles: another key than the one that signs request states, and like it the same after a restart. Without a key, of this process alone. */
export const handleSecret = (key: Uint8Array | undefined): Uint8Array => (key === undefined ? randomBytes(32) : derivedKey(key, "handles"));

/** All that modules export, as one source. Throws `NAME_COLLISION` where names are known to meet. */
export const assemble = ({ parts }: Loaded, { engine, names, log, inFull, handles, capabilities }: Assembling): Source => {
  const sources = parts.flatMap((part) => {
    const ofActors =
      part.cast.length + part.indexes.length === 0
        ? []
        : [
            cast({
              engine,
              kinds: part.cast,
              indexes: part.indexes,
              ...omitUndefined({ names, handles }),
              onFault: (error, actor) => log("error", "surface-fault", { actor, ...faultFields(error, inFull) }),
            }),
          ];
    const all = [...ofActors, ...part.sources];
    return part.prefix === undefined ? all : all.map((source) => prefix(part.prefix ?? "", source, names));
  });
  // Under no prefix: a capability has the same name to packets.
  const all = capabilities === undefined ? sources : [...sources, capabilities];
  // Else every request would fail, and the first to hear of it would be a client.
  if (all.length > 1) checkNames(...all);
  return merge(...all);
};
