import type { ActorId, ContentStore, Digest } from "../../../core/contract/index.ts";
import { GUEST } from "../guest-state.ts";
import { MANIFEST_SPACE, readManifest, referenceOf } from "../manifest/index.ts";
import { isGuestState } from "./is-guest-state.ts";
import type { Room } from "./room.ts";

const PAGE = 500;

/** What live guests are made of and were left as, what manifests name that have a label, and what was put lately. */
export async function* liveIn(room: Room): AsyncGenerator<Digest, void, undefined> {
  yield* namedIn(room.library.contents);
  // Before any state is read: one that is kept meanwhile names what is young no more. What is put meanwhile, a collection leaves.
  yield* room.library.young.all();
  const engine = room.engine();
  let after: ActorId | undefined;
  for (;;) {
    const page = await engine.list({ kind: GUEST, live: true, limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { id } of page) {
      const state = (await engine.read(id))?.state;
      if (!isGuestState(state)) continue;
      yield state.manifest;
      yield state.component;
      if (state.state !== null) yield state.state;
    }
    after = page.at(-1)?.id;
    if (after === undefined || page.length < PAGE) return;
  }
}

async function* namedIn(contents: ContentStore): AsyncGenerator<Digest, void, undefined> {
  let after: string | undefined;
  for (;;) {
    const page = await contents.labels(MANIFEST_SPACE, PAGE, after);
    for (const label of page) {
      const digest = await contents.labelled(MANIFEST_SPACE, label);
      const text = digest === undefined ? undefined : await contents.get(digest);
      if (text !== undefined) yield* namedBy(text);
    }
    after = page.at(-1);
    if (after === undefined || page.length < PAGE) return;
  }
}

/** By digest: what it names by a label is kept by that. */
function namedBy(text: Uint8Array): readonly Digest[] {
  try {
    const { component, initialState } = readManifest(Buffer.from(text).toString());
    return [component, initialState].flatMap((named): readonly Digest[] => {
      const reference = named === undefined ? undefined : referenceOf(named);
      return reference !== undefined && "digest" in reference ? [reference.digest] : [];
    });
  } catch {
    // Whatever else has a label there is no manifest.
    return [];
  }
}
