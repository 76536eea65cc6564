/** WebAssembly guests as actors. */
import {
  type Closable,
  type ActorId,
  type Behaviour,
  type ContentStore,
  type Digest,
  type Engine,
  type Outgoing,
  systemClock,
  systemEntropy,
} from "../../core/contract/index.ts";
import { guestKind } from "./guest/behaviour.ts";
import { ChannelPeers, staleChannels, closeMessage } from "./guest/channel-peers.ts";
import { ProgramCache } from "./guest/program-cache.ts";
import { liveContents } from "./guest/live-contents.ts";
import { type GuestMeasures, InstanceTracker } from "./guest/instance-tracker.ts";
import type { GuestRuntime } from "./guest/guest-runtime.ts";
import { GUEST_LIMITS, type GuestHouseOptions, type GuestOptions, type GuestStart, limitsOf, MOST_GUEST_LIMITS } from "./guest-options.ts";
import { createComponentReader } from "./jco/component-reader.ts";
import type { Manifest } from "./manifest/manifest.ts";
import { ManifestFinder } from "./manifest/manifest-finder.ts";
import { readManifest } from "./manifest/read-manifest.ts";
import { createSandbox } from "./pool/guest-pool.ts";
import { checkGranted } from "./manifest/grants.ts";
import { prepare, replacement } from "./guest/prepare.ts";
import { reexecuteGuest, type GuestReexecution } from "./guest/reexecute.ts";
import { GUEST, type GuestState } from "./guest-state.ts";
import type { GuestLimits } from "./sandbox.ts";

const NOBODY: ReadonlySet<string> = new Set();

export interface Guests extends Closable {
  /** What they are made of, and are left as. */
  readonly contents: ContentStore;
  readonly kind: Behaviour<GuestState>;
  /** The `host` of channels that somebody outside holds by this process. */
  readonly host: string;
  /**
   * Once the engine has started; what is delivered to guests before waits. `kinds`: the others that it runs. Guests have no scopes,
   * so what requires some in these is refused to them. Returns its undo.
   */
  attach(engine: Engine, kinds?: readonly Behaviour[]): () => void;
  /** What this process measured of its calls; undefined: none has ended here. */
  measured(id: ActorId): GuestMeasures | undefined;
  /** The message a guest begins with. Throws what is wrong with its manifest or its component. */
  prepare(start: GuestStart): Promise<Outgoing>;
  /** For `update`: the digest of another component, found as a manifest's is. Throws what is wrong with it. */
  component(reference: string, guest: GuestState): Promise<Digest>;
  /** Its manifest, and the limits that follow from it. Undefined: its text is not in the content store. */
  manifest(guest: GuestState): Promise<{ readonly manifest: Manifest; readonly limits: GuestLimits } | undefined>;
  /** What tells it of channels that somebody outside held by a process before this one. */
  stale(id: ActorId, guest: GuestState): readonly Outgoing[];
  /** Runs each call in its chain again, in a fresh instance that is answered from the record, and compares. */
  reexecute(id: ActorId): Promise<GuestReexecution>;
  /** What live guests are made of and were left as, what manifests with a label name, and what was put lately: not garbage, of the contents there are. */
  live(): AsyncIterable<Digest>;
}

/**
 * Guests as a kind of actor for an engine: `{ kinds: [guests.kind, …] }`, then `guests.attach(engine, […])`. Kept on disk, in a sandbox of
 * their own, and shown nothing of the environment, unless said otherwise. Dispose of it after the engine.
 */
export function createGuests({ contents, manifests, sandbox: given, ...more }: GuestHouseOptions): Guests {
  const sandbox = given ?? createSandbox();
  const close = async (): Promise<void> => {
    if (given === undefined) await sandbox[Symbol.asyncDispose]();
  };
  const options: GuestOptions = {
    clock: systemClock,
    entropy: systemEntropy,
    persistence: "disk",
    limits: GUEST_LIMITS,
    most: more.limits === undefined ? MOST_GUEST_LIMITS : {},
    readComponent: createComponentReader({ contents, clock: more.clock ?? systemClock }),
    checkGranted,
    variables: {},
    ...more,
    contents,
    sandbox,
    manifests:
      typeof manifests === "object"
        ? manifests
        : new ManifestFinder({
            contents,
            ...(manifests === undefined ? {} : { directory: manifests }),
            ...(more.directory === undefined ? {} : { closed: [more.directory] }),
          }),
  };
  let attached: Engine | undefined;
  let others: readonly Behaviour[] = [];
  let attaching = Promise.withResolvers<void>();
  const engine = (): Engine => {
    if (attached === undefined) throw new Error("There is no engine yet: attach one before guests run.");
    return attached;
  };
  const library = new ProgramCache(options);
  const room: GuestRuntime = {
    options,
    programs: library,
    process: options.entropy.uuid(),
    instances: new InstanceTracker(options.sandbox),
    peers: new ChannelPeers(engine),
    engine,
    kinds: () => others,
    attached: () => (attached === undefined ? attaching.promise : undefined),
  };
  return {
    kind: guestKind(room),
    host: room.process,
    attach(started, kinds = []) {
      attached = started;
      others = kinds;
      attaching.resolve();
      const unwatch = started.watch(`${GUEST}/*`, ({ id, seq, status }) => {
        library.recent.onCommitted(id, seq);
        if (status !== "stopped") return;
        room.instances.onStopped(id);
        void room.peers.onStopped(id);
      });
      return () => {
        unwatch();
        if (attached !== started) return;
        attached = undefined;
        attaching = Promise.withResolvers();
      };
    },
    measured: (id) => room.instances.measured(id),
    prepare: (start) => prepare(options, library, start),
    component: (reference, guest) => replacement(options, library, reference, guest),
    async manifest(guest) {
      const text = await contents.get(guest.manifest);
      if (text === undefined) return undefined;
      const manifest = readManifest(new TextDecoder().decode(text));
      return { manifest, limits: limitsOf(manifest, options) };
    },
    stale: (id, { channels }) =>
      staleChannels(channels, { process: room.process, gone: NOBODY }).map((channel) => closeMessage(id, channel)),
    reexecute: (id) => reexecuteGuest(room, id),
    live: () => liveContents(room),
    contents,
    close,
    [Symbol.asyncDispose]: close,
  };
}
