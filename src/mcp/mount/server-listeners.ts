import type { ContentOf, Dirty, Viewer } from "../../core/contract/index.ts";
import type { MountedServer } from "./mounted-server.ts";

export interface Listener {
  readonly viewer: Viewer;
  readonly dirty: Dirty;
  readonly only: ContentOf | undefined;
  readonly contents: boolean;
}

interface Attached {
  readonly to: MountedServer;
  undo(): void;
}

/** Who listens, by the server they would hear: also while there is none. */
export class ServerListeners {
  readonly #by = new Map<string, Map<Listener, Attached | undefined>>();

  has(key: string): boolean {
    return this.#by.has(key);
  }

  add(key: string, listener: Listener, to: MountedServer | undefined): void {
    const among = this.#by.get(key) ?? new Map<Listener, Attached | undefined>();
    this.#by.set(key, among);
    among.set(listener, to && this.#attached(listener, to));
  }

  remove(key: string, listener: Listener): void {
    const among = this.#by.get(key);
    const attached = among?.get(listener);
    if (among?.delete(listener) !== true) return;
    if (among.size === 0) this.#by.delete(key);
    if (attached?.to.closed === false) attached.undo();
  }

  /** A new server is there. Who heard another is told to look: what changed in between nobody can say. */
  attach(key: string, to: MountedServer): void {
    const among = this.#by.get(key);
    for (const [listener, before] of among ?? []) {
      among?.set(listener, this.#attached(listener, to));
      if (before !== undefined) listener.dirty(listener.only?.ref);
    }
  }

  // What the server before still says in its closing is nobody's.
  #attached(listener: Listener, to: MountedServer): Attached {
    const { viewer, dirty, only, contents } = listener;
    const attached: Attached = { to, undo: () => undo() };
    const undo = to.watch(viewer, (ref) => !to.closed && dirty(ref), only, contents);
    return attached;
  }
}
