import type { GuestFacts, GuestManifest, GuestsData } from "../../bridges/console/index.ts";
import { GUEST, type GuestState } from "../../bridges/wasm/guest-state.ts";
import { isGuestState } from "../../bridges/wasm/guest/is-guest-state.ts";
import type { Grants, Guests } from "../../bridges/wasm/index.ts";
import type { ActorId, Json } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";

/** What the console shows of guests. Without `guests`, of those in a directory that is only read. */
export const guestsData = (guests?: Guests): GuestsData => ({
  kind: GUEST,
  read: (id, state) => (isGuestState(state) ? { facts: factsOf(id, state, guests), paused: state.status === "paused" } : undefined),
  ...(guests !== undefined && { manifest: (state: Json) => manifestOf(state, guests) }),
});

const factsOf = (id: ActorId, guest: GuestState, guests: Guests | undefined): GuestFacts => {
  const { name, origin, component, manifest, status, failed, parent, children, channels, outstanding } = guest;
  const { memoryBytes, ...times } = guests?.measured(id) ?? {};
  return {
    name,
    component,
    manifest,
    ...(status === "paused" && { why: failed?.message ?? "Its parent failed." }),
    ...omitUndefined({ origin, parent, failedAt: failed?.seq }),
    children: Object.values(children),
    channels: Object.keys(channels).length,
    requests: outstanding.length,
    ...(hasTimes(times) && { measured: { ...times, ...(typeof memoryBytes === "number" && { memoryBytes }) } }),
  };
};

const hasTimes = <T extends object>(times: T): times is T & { failed: number; totalMs: number; minMs: number; maxMs: number } =>
  "failed" in times;

const manifestOf = async (state: Json, guests: Guests): Promise<GuestManifest | undefined> => {
  const known = isGuestState(state) ? await guests.manifest(state) : undefined;
  if (known === undefined) return undefined;
  const { manifest, limits } = known;
  const { text, version, description, onError, grants } = manifest;
  const { callMs, memoryBytes } = limits;
  return { text, ...omitUndefined({ version, description }), limits: { callMs, memoryBytes }, onError, grants: grantsOf(grants) };
};

/** For people. */
const grantsOf = (grants: Grants): readonly string[] => [
  ...(grants.runtime === undefined ? [] : ["runtime"]),
  ...(grants.messageServer === undefined ? [] : ["messages"]),
  ...(grants.supervisor === undefined ? [] : ["children"]),
  ...(grants.store === undefined ? [] : ["content store"]),
  ...(grants.timing === undefined ? [] : ["timing"]),
  ...(grants.random === undefined ? [] : ["randomness"]),
  ...(grants.environment === undefined ? [] : ["environment"]),
  ...(grants.filesystem === undefined ? [] : [grants.filesystem.write ? "files" : "files, to read"]),
  ...(grants.httpClient === undefined ? [] : [`HTTP to ${grants.httpClient.allowed.join(", ")}`]),
];
