import type { ContentOf, Dirty, Source, Viewer } from "../core/contract/index.ts";

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
