// Owns: the interface `supervisor`: starting, stopping and reading the children of a guest.
import { type ActorId, isJsonObject, type Json } from "../../../core/contract/index.ts";
import { getOwn } from "../../../core/contract/internal.ts";
import { type ChildEvent, limitsOf } from "../guest-options.ts";
import type { Manifest } from "../manifest/manifest.ts";
import { excessGrantOf } from "../manifest/grants.ts";
import { deriveUuid, isUuid } from "./call-effects.ts";
import { ok, asOptionalBytes, asText } from "./values.ts";
import { unwrapGuestReply } from "./messages.ts";
import { GUEST, isGuestId, isGuestState, MAX_CHILDREN } from "../guest-state.ts";
import type { GuestLimits, ImportResult } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import { messageOf } from "../wasm-error.ts";
import type { Import, ImportContext, Starter } from "./call-environment.ts";
import { isInSpace } from "./store.ts";

/** Each ancestor waits for its child to start, in an instance of its own. */
const MAX_GENERATIONS = 32;
const MAX_EVENTS = 1_000;

async function spawnChild(host: ImportContext, manifest: string, state: Uint8Array | undefined, resume: boolean): Promise<ImportResult> {
  const { environment, effects } = host;
  if (Object.keys(environment.state.children).length + effects.spawned.size >= MAX_CHILDREN)
    throw new Error(`An actor has at most ${MAX_CHILDREN} children: stop some.`);
  const generation = (environment.state.generation ?? 0) + 1;
  if (generation > MAX_GENERATIONS)
    throw new Error(`A family has at most ${MAX_GENERATIONS} generations: let a parent of this actor spawn it.`);
  const to: ActorId = `${GUEST}/${deriveUuid(environment.message.seed, "child", effects.nextDerived())}`;
  const start = {
    to,
    manifest,
    generation,
    ...(state === undefined ? {} : { initialState: state }),
    ...(resume ? { resume: true as const } : {}),
  };
  const message = await environment.prepare(start, starter(host));
  effects.attempted.children.add(to);
  try {
    const uid = uidIn(unwrapGuestReply(await environment.context.call(message)));
    effects.spawned.set(uid, to);
    return { result: ok(uid), lasting: true };
  } catch (error) {
    return { result: { err: `The child did not start: ${messageOf(error)}` }, lasting: true };
  }
}

const starter = (host: ImportContext): Starter => ({
  allow: (manifest, origin) => checkGrants(host, manifest, origin),
  reads: async (space, digest) =>
    host.environment.manifest.grants.store === true && isUuid(space) && (await isInSpace(host.environment.options.contents, space, digest)),
});

/** A manifest that a guest provides must not grant more than the guest itself has. */
function checkGrants({ environment }: ImportContext, manifest: Manifest, origin: string | undefined): void {
  if (origin !== undefined && environment.options.manifests.isTrusted(origin)) return;
  const excess = excessGrantOf(manifest.grants, environment.manifest.grants);
  if (excess !== undefined)
    throw new Error(
      `The child's manifest grants ${excess}, which its parent was not granted: leave it out, or spawn it from the operator's directory.`,
    );
  checkLimits(limitsOf(manifest, environment.options), limitsOf(environment.manifest, environment.options));
}

const MEBIBYTE = 1_048_576;

/** Otherwise a guest could exceed its limits through children. */
function checkLimits(child: GuestLimits, parent: GuestLimits): void {
  const excess =
    child.callMs > parent.callMs
      ? `call_ms = ${parent.callMs}`
      : child.memoryBytes > parent.memoryBytes
        ? `memory_mb = ${Math.floor(parent.memoryBytes / MEBIBYTE)}`
        : undefined;
  if (excess !== undefined)
    throw new Error(
      `The child's limits are beyond its parent's: write ${excess}, or less, below [limits] in its manifest, or spawn it from the operator's directory.`,
    );
}

function uidIn(answer: Json): string {
  if (isJsonObject(answer) && typeof answer["id"] === "string") return answer["id"];
  throw new Error("it gave no id.");
}

function childOf({ environment, effects }: ImportContext, uid: string): ActorId {
  const id = effects.stopped.has(uid) ? undefined : (effects.spawned.get(uid) ?? getOwn(environment.state.children, uid));
  if (id === undefined) throw new Error(`${uid.slice(0, 100)} is no child of this actor: \`list-children\` tells which are.`);
  return id;
}

const stopChild: Import = async (host, [given]) => {
  const uid = asText(given);
  const id = childOf(host, uid);
  const { engine, message } = host.environment;
  const child = (await engine.read(id))?.state;
  // The state of a fork has the children of its origin.
  if (isGuestState(child) && child.parent !== message.to)
    throw new Error(`${uid.slice(0, 100)} has another parent, which alone stops it: spawn a child of your own.`);
  await engine.stop(id, "its parent stopped it").catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  host.effects.stopped.add(uid);
  return { result: ok(), lasting: true };
};

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "NO_ACTOR";

const restartChild: Import = async (host, [given]) => {
  const to = childOf(host, asText(given));
  unwrapGuestReply(await host.environment.context.call({ to, action: "resume", args: {} }));
  return { result: ok(), lasting: true };
};

const getChildState: Import = async (host, [given]) => {
  const id = childOf(host, asText(given));
  const now = await host.environment.engine.read(id);
  if (now === undefined || !isGuestId(id)) throw new Error(`${id} has no state: it has not begun.`);
  const { state } = now;
  const digest = isJsonObject(state) ? state["state"] : null;
  if (typeof digest !== "string") return { result: ok() };
  const bytes = await host.environment.options.contents.get(digest);
  if (bytes === undefined) throw new Error(`The state of ${id} is not kept any more: restore the content store from a copy.`);
  return { result: ok(bytes) };
};

const getChildEvents: Import = async (host, [given]) => {
  const { childEvents, limits } = host.environment.options;
  const id = childOf(host, asText(given));
  if (childEvents === undefined) throw new Error("Events of children are not offered here: ask the child itself.");
  const newest: WitValue[] = [];
  let bytes = 0;
  for (const event of (await childEvents(id)).slice(-MAX_EVENTS).toReversed()) {
    bytes += event.data.length + event.eventType.length + 64;
    if (bytes > limits.hostBytes / 2) break;
    newest.push(toWitEvent(event));
  }
  return { result: ok(newest.toReversed()) };
};

const toWitEvent = ({ hash, parentHash, eventType, data, timestamp }: ChildEvent): WitValue => ({
  hash,
  "parent-hash": parentHash ?? undefined,
  "event-type": eventType,
  data,
  timestamp: BigInt(timestamp),
});

export const supervisor: Readonly<Record<string, Import>> = {
  spawn: (host, [manifest, state]) => spawnChild(host, asText(manifest), asOptionalBytes(state), false),
  resume: (host, [manifest, state]) => spawnChild(host, asText(manifest), asOptionalBytes(state), true),
  "stop-child": stopChild,
  "restart-child": restartChild,
  "get-child-state": getChildState,
  "get-child-events": getChildEvents,
};
