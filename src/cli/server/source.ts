import { randomBytes } from "node:crypto";
import type { Behaviour, ContentOf, Dirty, Engine, Source, Viewer } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { derivedKey } from "../../core/store/secret-file.ts";
import { cast, type CastOptions, merge, type NameStyle, prefix } from "../../mcp/source/index.ts";
import { checkNames } from "../../mcp/source/merge.ts";
import type { Loaded } from "../load-modules.ts";
import { faultFields, type ServerLog } from "../log.ts";

interface Assembling {
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

const offers = ({ catalogue }: Behaviour): boolean =>
  catalogue !== undefined && catalogue.tools.length + catalogue.resources.length + catalogue.prompts.length > 0;

/** Kinds that offer something and are met through links alone, where no kind leads to them. Where one does not say ahead where it leads: none. */
const unmetIn = (kinds: readonly Behaviour[]): readonly string[] => {
  const links = kinds.map(({ catalogue }) => catalogue?.links);
  if (links.includes(undefined)) return [];
  const led = new Set(links.flatMap((to = {}) => Object.values(to).flat()));
  return kinds.filter((kind) => kind.per === "link" && offers(kind) && !led.has(kind.kind)).map(({ kind }) => kind);
};

/** Tells of kinds that were written for clients and that no client can meet. */
export const logUnmet = (log: ServerLog, { parts }: Loaded): void => {
  const kinds = parts.flatMap((part) => unmetIn(part.cast));
  if (kinds.length === 0) return;
  log("warn", "kinds-not-met", {
    kinds,
    what: "Nothing links to these kinds, so no client meets what they offer. Name them in the `kinds` of another's link, or give them another `per`.",
  });
};

interface Watcher {
  readonly viewer: Viewer;
  readonly dirty: Dirty;
  readonly only: ContentOf | undefined;
  readonly contents: boolean | undefined;
  undo: () => void;
}

export interface Switched {
  readonly source: Source;
  /** Throws what a watch of `next` threw first, when all have been moved that could be. */
  replace(next: Source): void;
}

/** A source that can be exchanged under the feet of connected clients: sessions and subscriptions stay. */
export const switchSource = (first: Source): Switched => {
  let current = first;
  const watchers = new Set<Watcher>();
  const source: Source = {
    get instructions() {
      return current.instructions ?? "";
    },
    surface: (viewer) => current.surface(viewer),
    catalogue: (viewer) => current.catalogue?.(viewer),
    act: (viewer, ref, args, options) => current.act(viewer, ref, args, options),
    actNow: (viewer, ref, args, options) => current.actNow?.(viewer, ref, args, options) ?? current.act(viewer, ref, args, options),
    complete: async (viewer, ref, argument, value, others) => (await current.complete?.(viewer, ref, argument, value, others)) ?? [],
    watch(viewer, dirty, only, contents) {
      const watcher: Watcher = { viewer, dirty, only, contents, undo: current.watch(viewer, dirty, only, contents) };
      watchers.add(watcher);
      return () => {
        watchers.delete(watcher);
        watcher.undo();
      };
    },
  };
  return {
    source,
    replace(next) {
      current = next;
      const faults: unknown[] = [];
      for (const watcher of watchers) {
        watcher.undo();
        watcher.undo = () => undefined;
        try {
          watcher.undo = next.watch(watcher.viewer, watcher.dirty, watcher.only, watcher.contents);
        } catch (error) {
          faults.push(error);
        }
        watcher.dirty(watcher.only?.ref);
      }
      if (faults.length > 0) throw faults[0];
    },
  };
};
