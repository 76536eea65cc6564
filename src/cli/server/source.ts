// Owns: the one source made of all modules, and a source that can be replaced under its clients. Does not own: merging (mcp/source).
import { randomBytes } from "node:crypto";
import type { Behaviour, ContentOf, Dirty, Engine, Source, Viewer } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { derivedKey } from "../../core/store/secret-file.ts";
import { cast, type CastOptions, merge, type NameStyle, prefix } from "../../mcp/source/index.ts";
import { checkNames } from "../../mcp/source/merge.ts";
import type { LoadedModules } from "../load-modules.ts";
import { faultFields, type ServerLog } from "../log.ts";

interface SourceOptions {
  readonly engine: Engine;
  readonly names: NameStyle | undefined;
  readonly log: ServerLog;
  /** Log the messages of author errors, too. */
  readonly detailedFaults: boolean;
  readonly handles: CastOptions["handles"];
  /** The capabilities as an MCP source. */
  readonly capabilities: Source | undefined;
}

/** The key that signs handles, derived from the server's key; without one it is valid for this process only. */
export const handleSecret = (key: Uint8Array | undefined): Uint8Array => (key === undefined ? randomBytes(32) : derivedKey(key, "handles"));

/** One source of all that modules export. Throws `NAME_COLLISION` if two names are equal. */
export const assembleSource = (
  { parts }: LoadedModules,
  { engine, names, log, detailedFaults, handles, capabilities }: SourceOptions,
): Source => {
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
              onFault: (error, actor) => log("error", "surface-fault", { actor, ...faultFields(error, detailedFaults) }),
            }),
          ];
    const all = [...ofActors, ...part.sources];
    return part.prefix === undefined ? all : all.map((source) => prefix(part.prefix ?? "", source, names));
  });
  // Without a prefix: a capability has the same name for packets.
  const all = capabilities === undefined ? sources : [...sources, capabilities];
  // Checked now, or every request would fail.
  if (all.length > 1) checkNames(...all);
  return merge(...all);
};

const offers = ({ catalogue }: Behaviour): boolean =>
  catalogue !== undefined && catalogue.tools.length + catalogue.resources.length + catalogue.prompts.length > 0;

/** Kinds that offer something, are reached through links only, and are not linked from any kind. None if a kind does not declare its links. */
const unreachableKinds = (kinds: readonly Behaviour[]): readonly string[] => {
  const links = kinds.map(({ catalogue }) => catalogue?.links);
  if (links.includes(undefined)) return [];
  const linked = new Set(links.flatMap((to = {}) => Object.values(to).flat()));
  return kinds.filter((kind) => kind.per === "link" && offers(kind) && !linked.has(kind.kind)).map(({ kind }) => kind);
};

/** Warns of kinds that offer something to clients and that no client can reach. */
export const logUnreachableKinds = (log: ServerLog, { parts }: LoadedModules): void => {
  const kinds = parts.flatMap((part) => unreachableKinds(part.cast));
  if (kinds.length === 0) return;
  log("warn", "kinds-not-met", {
    kinds,
    what: "Nothing links to these kinds, so no client meets what they offer. Name each as the `kind` of another's link, or among its `kinds`, or give it another `per`.",
  });
};

interface Watcher {
  readonly viewer: Viewer;
  readonly dirty: Dirty;
  readonly only: ContentOf | undefined;
  readonly contents: boolean | undefined;
  undo: () => void;
}

export interface ReplaceableSource {
  readonly source: Source;
  /** Moves all watchers to `next`. Throws the first error of a watch, after moving the others. */
  replace(next: Source, instructions?: string): void;
}

/** A source that can be replaced while clients are connected: sessions and subscriptions stay. `instructions` precede its own. */
export const replaceableSource = (first: Source, instructions?: string): ReplaceableSource => {
  let current = first;
  let before = instructions;
  const watchers = new Set<Watcher>();
  const source: Source = {
    get instructions() {
      return [before, current.instructions].filter((text) => text !== undefined && text !== "").join("\n\n");
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
    replace(next, instructionsOfNext) {
      current = next;
      before = instructionsOfNext;
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
