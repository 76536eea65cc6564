// Owns: guests as a kind of actor: `createGuests` connects the parts of this folder. Does not own: what each part does.
import {
  type ActorId,
  type Behaviour,
  checkOptions,
  type Closable,
  type ContentStore,
  type Digest,
  type Engine,
  FUNCTION,
  oneOf,
  type OptionTable,
  type Outgoing,
  systemClock,
  systemEntropy,
} from "../../core/contract/index.ts";
import { OBJECT, omitUndefined, TEXT } from "../../core/contract/internal.ts";
import { guestKind } from "./guest/behaviour.ts";
import { ChannelPeers, closeStale, staleChannels } from "./guest/channel-peers.ts";
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

const NONE: ReadonlySet<string> = new Set();

export interface Guests extends Closable {
  /** Stores manifests, components and states of guests. */
  readonly contents: ContentStore;
  readonly kind: Behaviour<GuestState>;
  /** The `host` of channel ends that clients of this process hold. */
  readonly host: string;
  /**
   * Call it once the engine has started; messages to guests wait until then. `kinds`: the other kinds of that engine. Guests have no
   * scopes, so actions of these kinds that require scopes are refused to guests. `readsOnly`: messages to guests wait all the same, for
   * what only reads chains and contents. Returns a function that detaches the engine.
   */
  attach(engine: Engine, kinds?: readonly Behaviour[], options?: { readonly readsOnly?: boolean }): () => void;
  /** Measurements of a guest's calls in this process; undefined if none has ended here. */
  measured(id: ActorId): GuestMeasures | undefined;
  /** The first message of a guest. Throws if its manifest or its component is invalid. */
  prepare(start: GuestStart): Promise<Outgoing>;
  /** Finds and stores another component for `update`, and returns its digest. Throws if it is invalid. */
  component(reference: string, guest: GuestState): Promise<Digest>;
  /** A guest's manifest and limits; undefined if the text is not in the content store. */
  manifest(guest: GuestState): Promise<{ readonly manifest: Manifest; readonly limits: GuestLimits } | undefined>;
  /** Messages that close channels whose ends were held by clients of an earlier process. */
  stale(id: ActorId, guest: GuestState): readonly Outgoing[];
  /** Runs each call in its chain again, in a new instance whose host calls are answered from the record, and compares the results. */
  reexecute(id: ActorId): Promise<GuestReexecution>;
  /** Contents that must not be collected: those of live guests, those named by labelled manifests, and recent ones. */
  live(): AsyncIterable<Digest>;
}

const OPTIONS: OptionTable<GuestHouseOptions> = {
  contents: true,
  manifests: true,
  sandbox: true,
  clock: true,
  entropy: true,
  persistence: oneOf("memory", "disk"),
  limits: OBJECT,
  most: OBJECT,
  readComponent: FUNCTION,
  checkGranted: FUNCTION,
  variables: OBJECT,
  directory: TEXT,
  http: OBJECT,
  childEvents: FUNCTION,
};

/**
 * Guests as a kind of actor for an engine: `{ kinds: [guests.kind, …] }`, then `guests.attach(engine, […])`. By default they are stored
 * on disk, run in a sandbox of their own, and see no environment variables. Dispose of it after the engine.
 */
export function createGuests(house: GuestHouseOptions): Guests {
  checkOptions("createGuests", house, OPTIONS);
  const { contents, manifests, sandbox: given, ...more } = house;
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
            ...omitUndefined({ directory: manifests }),
            ...(more.directory === undefined ? {} : { closed: [more.directory] }),
          }),
  };
  let attached: Engine | undefined;
  let isRunning = false;
  let others: readonly Behaviour[] = [];
  let attaching = Promise.withResolvers<void>();
  const engine = (): Engine => {
    if (attached === undefined) throw new Error("There is no engine yet: attach one before guests run.");
    return attached;
  };
  const runtime: GuestRuntime = {
    options,
    programs: new ProgramCache(options),
    process: options.entropy.uuid(),
    instances: new InstanceTracker(options.sandbox),
    peers: new ChannelPeers(engine),
    engine,
    kinds: () => others,
    attached: () => (isRunning ? undefined : attaching.promise),
  };
  return {
    kind: guestKind(runtime),
    host: runtime.process,
    attach(started, kinds = [], { readsOnly = false } = {}) {
      attached = started;
      others = kinds;
      isRunning = !readsOnly;
      if (isRunning) attaching.resolve();
      const unwatch = started.watch(`${GUEST}/*`, ({ id, seq, status }) => {
        runtime.programs.recent.onCommitted(id, seq);
        if (status !== "stopped") return;
        runtime.instances.onStopped(id);
        void runtime.peers.onStopped(id);
      });
      return () => {
        unwatch();
        if (attached !== started) return;
        attached = undefined;
        isRunning = false;
        attaching = Promise.withResolvers();
      };
    },
    measured: (id) => runtime.instances.measured(id),
    prepare: (start) => prepare(runtime, start),
    component: (reference, guest) => replacement(runtime, reference, guest),
    async manifest(guest) {
      const text = await contents.get(guest.manifest);
      if (text === undefined) return undefined;
      const manifest = readManifest(new TextDecoder().decode(text));
      return { manifest, limits: limitsOf(manifest, options) };
    },
    stale: (id, { channels }) =>
      staleChannels(channels, { process: runtime.process, stopped: NONE }).map((channel) => closeStale(id, channel)),
    reexecute: (id) => reexecuteGuest(runtime, id),
    live: () => liveContents(runtime),
    contents,
    close,
    [Symbol.asyncDispose]: close,
  };
}
