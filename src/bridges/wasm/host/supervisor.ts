/** `supervisor`: an actor's own children, and no other's. */
import type { ActorId, Json } from "../../../core/contract/index.ts";
import type { Starter } from "../guest/prepare.ts";
import { type ChildEvent, limitsOf } from "../guest-options.ts";
import type { Manifest } from "../manifest/manifest.ts";
import { excessGrantOf } from "../manifest/grants.ts";
import { derivedUuid, isUuid } from "./call-effects.ts";
import { type Given, ok, someBytes, text } from "./values.ts";
import { guestReplyOf } from "./messages.ts";
import { GUEST } from "../guest-state.ts";
import type { GuestLimits } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import type { CallHost, Import } from "./call-host.ts";
import { holds } from "./store.ts";

const MOST_CHILDREN = 1_000;
/** Each waits for the next to begin, in an instance of its own. */
const MOST_GENERATIONS = 32;
const MOST_EVENTS = 1_000;

async function begin(host: CallHost, manifest: string, state: Uint8Array | undefined, resume: boolean): Promise<Given> {
  const { of, gathered } = host;
  if (Object.keys(of.state.children).length + gathered.born.size >= MOST_CHILDREN)
    throw new Error(`An actor has at most ${MOST_CHILDREN} children: stop some.`);
  const generation = (of.state.generation ?? 0) + 1;
  if (generation > MOST_GENERATIONS)
    throw new Error(`A family has at most ${MOST_GENERATIONS} generations: let a parent of this actor spawn it.`);
  const to: ActorId = `${GUEST}/${derivedUuid(of.message.seed, "child", gathered.next())}`;
  const start = {
    to,
    manifest,
    generation,
    ...(state === undefined ? {} : { initialState: state }),
    ...(resume ? { resume: true as const } : {}),
  };
  const message = await of.prepare(start, starter(host));
  gathered.tried.children.add(to);
  try {
    const uid = uidIn(guestReplyOf(await of.context.call(message)));
    gathered.born.set(uid, to);
    return { result: ok(uid), lasting: true };
  } catch (error) {
    return { result: { err: `The child did not start: ${error instanceof Error ? error.message : String(error)}` }, lasting: true };
  }
}

const starter = (host: CallHost): Starter => ({
  allow: (manifest, origin) => allow(host, manifest, origin),
  reads: async (space, digest) =>
    host.of.manifest.grants.store === true && isUuid(space) && (await holds(host.of.options.contents, space, digest)),
});

/** What a guest writes itself may not grant more than the guest has: else a manifest would be a way out of its own. */
function allow({ of }: CallHost, manifest: Manifest, origin: string | undefined): void {
  if (origin !== undefined && of.options.manifests.isTrusted(origin)) return;
  const excess = excessGrantOf(manifest.grants, of.manifest.grants);
  if (excess !== undefined)
    throw new Error(
      `The child's manifest grants ${excess}, which its parent was not granted: leave it out, or spawn it from the operator's directory.`,
    );
  checkLimits(limitsOf(manifest, of.options), limitsOf(of.manifest, of.options));
}

const MEBIBYTE = 1_048_576;

/** It would have its children compute what it may not itself. */
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
  if (typeof answer === "object" && answer !== null && "id" in answer && typeof answer["id"] === "string") return answer["id"];
  throw new Error("it gave no id.");
}

function childOf({ of, gathered }: CallHost, uid: string): ActorId {
  const id = gathered.ended.has(uid)
    ? undefined
    : (gathered.born.get(uid) ?? (Object.hasOwn(of.state.children, uid) ? of.state.children[uid] : undefined));
  if (id === undefined) throw new Error(`${uid.slice(0, 100)} is no child of this actor: \`list-children\` tells which are.`);
  return id;
}

async function stop(host: CallHost, given: WitValue): Promise<Given> {
  const uid = text(given);
  const id = childOf(host, uid);
  await host.of.engine.stop(id, "its parent stopped it").catch((error: unknown) => {
    if (!isGone(error)) throw error;
  });
  host.gathered.ended.add(uid);
  return { result: ok(), lasting: true };
}

const isGone = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "NO_ACTOR";

async function restart(host: CallHost, given: WitValue): Promise<Given> {
  const to = childOf(host, text(given));
  guestReplyOf(await host.of.context.call({ to, action: "resume", args: {} }));
  return { result: ok(), lasting: true };
}

async function stateOf(host: CallHost, given: WitValue): Promise<Given> {
  const id = childOf(host, text(given));
  const now = await host.of.engine.read(id);
  if (now === undefined || !id.startsWith(`${GUEST}/`)) throw new Error(`${id} has no state: it has not begun.`);
  const { state } = now;
  const digest = typeof state === "object" && state !== null && "state" in state ? state["state"] : null;
  if (typeof digest !== "string") return { result: ok() };
  const bytes = await host.of.options.contents.get(digest);
  if (bytes === undefined) throw new Error(`The state of ${id} is not kept any more: restore the content store from a copy.`);
  return { result: ok(bytes) };
}

async function eventsOf(host: CallHost, given: WitValue): Promise<Given> {
  const { childEvents, limits } = host.of.options;
  const id = childOf(host, text(given));
  if (childEvents === undefined) throw new Error("Events of children are not offered here: ask the child itself.");
  const told: WitValue[] = [];
  let bytes = 0;
  for (const event of (await childEvents(id)).slice(-MOST_EVENTS).toReversed()) {
    bytes += event.data.length + event.eventType.length + 64;
    if (bytes > limits.hostBytes / 2) break;
    told.push(shown(event));
  }
  return { result: ok(told.toReversed()) };
}

const shown = ({ hash, parentHash, eventType, data, timestamp }: ChildEvent): WitValue => ({
  hash,
  "parent-hash": parentHash ?? undefined,
  "event-type": eventType,
  data,
  timestamp: BigInt(timestamp),
});

export const supervisor: Readonly<Record<string, Import>> = {
  spawn: (host, [manifest, state]) => begin(host, text(manifest), someBytes(state), false),
  resume: (host, [manifest, state]) => begin(host, text(manifest), someBytes(state), true),
  "stop-child": (host, [child]) => stop(host, child),
  "restart-child": (host, [child]) => restart(host, child),
  "get-child-state": (host, [child]) => stateOf(host, child),
  "get-child-events": (host, [child]) => eventsOf(host, child),
};
