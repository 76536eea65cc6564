import type { ActorId, Clock, ContentStore, Digest } from "../../../core/contract/index.ts";
import { GUEST, isGuestState } from "../guest-state.ts";
import { MANIFEST_SPACE, parseReference } from "../manifest/manifest-finder.ts";
import { readManifest } from "../manifest/read-manifest.ts";
import type { GuestRuntime } from "./guest-runtime.ts";

/** What calls put while their turn is not kept: by the actor, whose next call begins only once this one's fate is known. */
interface Call {
  readonly seq: number;
  readonly since: number;
  readonly put: Set<Digest>;
}

/** More begin at once nowhere; beyond, the oldest has begun. */
const MAX_BEGINNINGS = 65_536;

/** What is put is named by a state only once its turn is kept: until then a collection must not take it for garbage. */
export class RecentContents {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #maxBeginnings: number;
  /** The oldest stands first, in both. */
  readonly #calls = new Map<ActorId, Call>();
  readonly #beginnings = new Map<Digest, number>();

  /** `ms`: longer than any turn takes from its first content to its commit. */
  constructor(clock: Clock, ms: number, most: number = MAX_BEGINNINGS) {
    this.#clock = clock;
    this.#ms = ms;
    this.#maxBeginnings = most;
  }

  /** What guests begin from: who puts it does not see their first turn kept, so it stays for its time. */
  add(digest: Digest): void {
    this.#beginnings.delete(digest);
    this.#beginnings.set(digest, this.#clock.now());
    for (const oldest of this.#beginnings.keys()) {
      if (this.#beginnings.size <= this.#maxBeginnings) break;
      this.#beginnings.delete(oldest);
    }
    this.#dropExpired();
  }

  /** A call that would leave that event: what it puts is told to what is returned. */
  startCall(id: ActorId, seq: number): (digest: Digest) => void {
    const call: Call = { seq, since: this.#clock.now(), put: new Set() };
    this.#calls.delete(id);
    this.#calls.set(id, call);
    this.#dropExpired();
    return (digest) => void call.put.add(digest);
  }

  /** Its state names what that event's call put, or nothing ever will. */
  onCommitted(id: ActorId, seq: number): void {
    const call = this.#calls.get(id);
    if (call !== undefined && call.seq <= seq) this.#calls.delete(id);
  }

  all(): readonly Digest[] {
    this.#dropExpired();
    const all = new Set(this.#beginnings.keys());
    for (const { put } of this.#calls.values()) for (const digest of put) all.add(digest);
    return [...all];
  }

  #dropExpired(): void {
    const before = this.#clock.now() - this.#ms;
    for (const [digest, since] of this.#beginnings) {
      if (since > before) break;
      this.#beginnings.delete(digest);
    }
    for (const [id, { since }] of this.#calls) {
      if (since > before) break;
      this.#calls.delete(id);
    }
  }
}

const PAGE = 500;

/** What live guests are made of and were left as, what manifests name that have a label, and what was put lately. */
export async function* liveContents(room: GuestRuntime): AsyncGenerator<Digest, void, undefined> {
  yield* labelledContents(room.programs.contents);
  // Before any state is read: one that is kept meanwhile names what is young no more. What is put meanwhile, a collection leaves.
  yield* room.programs.recent.all();
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

async function* labelledContents(contents: ContentStore): AsyncGenerator<Digest, void, undefined> {
  let after: string | undefined;
  for (;;) {
    const page = await contents.labels(MANIFEST_SPACE, PAGE, after);
    for (const label of page) {
      const digest = await contents.labelled(MANIFEST_SPACE, label);
      const text = digest === undefined ? undefined : await contents.get(digest);
      if (text !== undefined) yield* contentsNamedBy(text);
    }
    after = page.at(-1);
    if (after === undefined || page.length < PAGE) return;
  }
}

/** By digest: what it names by a label is kept by that. */
function contentsNamedBy(text: Uint8Array): readonly Digest[] {
  try {
    const { component, initialState } = readManifest(Buffer.from(text).toString());
    return [component, initialState].flatMap((named): readonly Digest[] => {
      const reference = named === undefined ? undefined : parseReference(named);
      return reference !== undefined && "digest" in reference ? [reference.digest] : [];
    });
  } catch {
    // Whatever else has a label there is no manifest.
    return [];
  }
}
