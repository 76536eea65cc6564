// Owns: which contents of guests must not be collected: those of states and manifests, and recent ones.
import type { ActorId, Clock, ContentStore, Digest } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { GUEST, isGuestState } from "../guest-state.ts";
import { MANIFEST_SPACE, parseReference } from "../manifest/manifest-finder.ts";
import { readManifest } from "../manifest/read-manifest.ts";
import type { GuestRuntime } from "./guest-runtime.ts";

/** The contents of a call whose turn is not committed. One per actor, since its next call starts after this one's commit or failure. */
interface Call {
  readonly seq: number;
  readonly since: number;
  readonly put: Set<Digest>;
}

/** More guests than this do not start at once. Above it, the oldest are dropped. */
const MAX_BEGINNINGS = 65_536;

/** Contents that were stored recently. A state refers to them only after the commit, and until then they must not be collected. */
export class RecentContents {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #maxBeginnings: number;
  /** Both are in order of age, the oldest first. */
  readonly #calls = new Map<ActorId, Call>();
  readonly #beginnings = new Map<Digest, number>();

  /** `ms`: longer than any turn takes, from its first content to its commit. */
  constructor(clock: Clock, ms: number, maxBeginnings: number = MAX_BEGINNINGS) {
    this.#clock = clock;
    this.#ms = ms;
    this.#maxBeginnings = maxBeginnings;
  }

  /** A content that a guest is started from. Its first commit is not visible here, so it stays recent for the whole time. */
  add(digest: Digest): void {
    this.#beginnings.delete(digest);
    this.#beginnings.set(digest, this.#clock.now());
    for (const oldest of this.#beginnings.keys()) {
      if (this.#beginnings.size <= this.#maxBeginnings) break;
      this.#beginnings.delete(oldest);
    }
    this.#dropExpired();
  }

  /** Starts a call that will leave event `seq`. Returns a function to record its contents. */
  startCall(id: ActorId, seq: number): (digest: Digest) => void {
    const call: Call = { seq, since: this.#clock.now(), put: new Set() };
    this.#calls.delete(id);
    this.#calls.set(id, call);
    this.#dropExpired();
    return (digest) => void call.put.add(digest);
  }

  /** After this commit, the state refers to the call's contents, or nothing ever will. */
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

/** Contents of live guests, contents named by labelled manifests, and recent ones. */
export async function* liveContents(runtime: GuestRuntime): AsyncGenerator<Digest, void, undefined> {
  yield* labelledContents(runtime.programs.contents);
  // Before reading states: a turn that commits meanwhile removes its contents from the recent ones. The collection itself spares newer contents.
  yield* runtime.programs.recent.all();
  const engine = runtime.engine();
  let after: ActorId | undefined;
  for (;;) {
    const page = await engine.list({ kind: GUEST, live: true, limit: PAGE, ...omitUndefined({ after }) });
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

/** Contents that a manifest names by digest. The others are retained by their labels. */
function contentsNamedBy(text: Uint8Array): readonly Digest[] {
  try {
    const { component, initialState } = readManifest(Buffer.from(text).toString());
    return [component, initialState].flatMap((named): readonly Digest[] => {
      const reference = named === undefined ? undefined : parseReference(named);
      return reference !== undefined && "digest" in reference ? [reference.digest] : [];
    });
  } catch {
    // A labelled content that is not a manifest.
    return [];
  }
}
