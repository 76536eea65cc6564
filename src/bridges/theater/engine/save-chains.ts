// Owns: which guests' chains are saved to files, and when. Does not own: the files (chain/saved-chain.ts).
import { checkOptions, FUNCTION, type Engine, type Snapshot } from "../../../core/contract/index.ts";
import { GUEST, readManifest } from "../../wasm/index.ts";
import { theaterEvents } from "../chain/projector.ts";
import { saveChain } from "../chain/saved-chain.ts";
import type { TheaterStage } from "../stage.ts";
import { guestStateOf } from "./stage-actors.ts";

/** Options of `saveChains`, which writes the chains of actors to files as Theater does. */
export interface SaveChainsOptions {
  readonly engine: Engine;
  readonly stage: Pick<TheaterStage, "content">;
  /** Gets the sub-directories `events/` and `chains/`. */
  readonly directory: string;
  readonly onFault: (error: unknown) => void;
}

/**
 * Writes the chain of a guest whose manifest says `save_chain = true` to files when it stops, as Theater does. Returns a function that
 * ends this and waits for pending writes.
 */
export function saveChains(options: SaveChainsOptions): () => Promise<void> {
  checkOptions("saveChains", options, { engine: true, stage: true, directory: true, onFault: FUNCTION });
  const { engine, stage, directory, onFault } = options;
  // One at a time, since chains share the files of their events.
  let writing: Promise<void> = Promise.resolve();
  const save = async (snapshot: Snapshot | undefined): Promise<void> => {
    const guest = snapshot === undefined ? undefined : guestStateOf(snapshot);
    if (snapshot === undefined || guest === undefined) return;
    const text = await stage.content(guest.manifest);
    if (text === undefined || !readManifest(new TextDecoder().decode(text)).saveChain) return;
    // Event by event: `stage.chain` is limited to what can be sent at once, and a saved chain is whole.
    await saveChain(
      directory,
      snapshot.uid,
      theaterEvents(engine.history(snapshot.id), (digest) => stage.content(digest)),
    );
  };
  const undo = engine.watch(`${GUEST}/*`, ({ id, status }) => {
    if (status !== "stopped") return;
    // Read now: while it waits for others, the actor may be started again from another manifest.
    const reading = engine.read(id);
    const before = writing;
    writing = (async () => {
      const [snapshot] = await Promise.allSettled([reading, before]);
      if (snapshot.status === "rejected") onFault(snapshot.reason);
      else await save(snapshot.value).catch(onFault);
    })();
  });
  return () => {
    undo();
    return writing;
  };
}
