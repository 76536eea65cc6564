import type { Engine } from "../../../core/contract/index.ts";
import { GUEST, readManifest } from "../../wasm/index.ts";
import { saveChain, theaterEvents } from "../chain/index.ts";
import type { TheaterStage } from "../theater-stage.ts";
import { guestIn } from "./guest-in.ts";

/** What `saveChains` takes: it writes the chains of actors as files, as Theater does. */
export interface SaveChainsOptions {
  readonly engine: Engine;
  readonly stage: TheaterStage;
  /** `events/` and `chains/` are made in it. */
  readonly directory: string;
  readonly onFault: (error: unknown) => void;
}

/** As Theater does: the chain of a guest whose manifest says `save_chain = true` is written to files when it stops. Returns its undo, which waits for what is being written. */
export function saveChains({ engine, stage, directory, onFault }: SaveChainsOptions): () => Promise<void> {
  // One after the other: chains share the files of their events.
  let writing: Promise<void> = Promise.resolve();
  const save = async (id: Parameters<Engine["read"]>[0]): Promise<void> => {
    const snapshot = await engine.read(id);
    const guest = snapshot === undefined ? undefined : guestIn(snapshot);
    if (snapshot === undefined || guest === undefined) return;
    const text = await stage.content(guest.manifest);
    if (text === undefined || !readManifest(new TextDecoder().decode(text)).saveChain) return;
    // Event by event: `stage.chain` gives what can be sent at once, and a saved chain is whole.
    await saveChain(
      directory,
      snapshot.uid,
      theaterEvents(engine.history(id), (digest) => stage.content(digest)),
    );
  };
  const undo = engine.watch(`${GUEST}/*`, ({ id, status }) => {
    if (status === "stopped") writing = writing.then(() => save(id)).catch(onFault);
  });
  return () => {
    undo();
    return writing;
  };
}
