import { base64urlOf, fromBase64, fromHex, hmacSha256, sameBytes, sha256Hex } from "../../core/platform/index.ts";
import { type ActorId, type Bag, isBag, type Json, type Offer, TroupeError } from "../../core/contract/index.ts";
import { fillAlias, uriOf, withSegment } from "./names.ts";

/**
 * A handle is `h_` and the base64url of 16 random bytes, the minute it was minted in, and 12 bytes of an HMAC over
 * these, the kind and the starter's principal. Minting stores nothing, so nobody can fill a disk with it: the actor
 * begins with the first call that does something, and from then on its own existence is the proof. The secret
 * therefore only matters to handles that were never used; by default it is as old as the process.
 */
const HANDLE = /^h_[A-Za-z0-9_-]{43}$/;
const MINUTE = 60_000;

function proofOf(secret: Uint8Array, kind: string, principal: string | undefined, body: Uint8Array): Uint8Array {
  return hmacSha256(secret, JSON.stringify([kind, principal ?? null]), body).subarray(0, 12);
}

/** Mints a handle for a kind, bound to the principal where there is one. `random` is 16 bytes in hex. */
export function mintHandle(secret: Uint8Array, kind: string, principal: string | undefined, now: number, random: string): string {
  const bytes = new Uint8Array(32);
  bytes.set(fromHex(random).subarray(0, 16));
  new DataView(bytes.buffer).setUint32(16, Math.floor(now / MINUTE));
  bytes.set(proofOf(secret, kind, principal, bytes.subarray(0, 20)), 20);
  return `h_${base64urlOf(bytes)}`;
}

export function isHandle(text: unknown): text is string {
  return typeof text === "string" && HANDLE.test(text);
}

/** Whether a handle without an actor was minted here for this principal, and when, in milliseconds since 1970. */
export function mintedAt(secret: Uint8Array, kind: string, principal: string | undefined, handle: string): number | undefined {
  const bytes = fromBase64(handle.slice(2));
  const body = bytes.subarray(0, 20);
  if (!sameBytes(bytes.subarray(20), proofOf(secret, kind, principal, body))) return undefined;
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(16) * MINUTE;
}

/** The actor behind a handle. Its id is a hash: who reads ids (a log, a chain) cannot act. */
export function handleActor(kind: string, handle: string): ActorId {
  return `${kind}/${sha256Hex(handle).slice(0, 32)}`;
}

/** 90 minutes, 24 hours, 7 days: the largest unit of which it is at least two. */
export function sayDuration(ms: number): string {
  const units: readonly (readonly [number, string])[] = [
    [86_400_000, "days"],
    [3_600_000, "hours"],
    [60_000, "minutes"],
  ];
  for (const [size, name] of units) {
    if (ms >= 2 * size && ms % size === 0) return `${ms / size} ${name}`;
  }
  return `${Math.max(1, Math.round(ms / 1000))} seconds`;
}

/** Where an offer stands under a handle: the kind that the handle is of, and the prefixes of the links from there where the handle alone does not tell it from another. */
export interface UnderHandle {
  readonly kind: string;
  readonly path: string;
}

/** The definition an offer has where its actor is addressed by a handle. */
export function withHandle(list: "tools" | "resources" | "prompts", offer: Offer, { kind, path }: UnderHandle): Offer["definition"] {
  const { definition } = offer;
  const description = `What start_${kind} returned.`;
  if (list === "resources") return templateOf(definition, path);
  if (list === "prompts") {
    const own = definition["arguments"];
    const fixed: readonly Json[] = Array.isArray(own) ? own : [];
    if (fixed.some((argument: Json) => isBag(argument) && argument["name"] === "handle")) throw taken(kind, list, offer.name);
    return { ...definition, arguments: [{ name: "handle", description, required: true }, ...fixed] };
  }
  const given = definition["inputSchema"];
  const schema: Bag = isBag(given) ? given : { type: "object" };
  const properties = isBag(schema["properties"]) ? schema["properties"] : {};
  if (Object.hasOwn(properties, "handle")) throw taken(kind, list, offer.name);
  const required: readonly Json[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  return {
    ...definition,
    inputSchema: { ...schema, properties: { handle: { type: "string", description }, ...properties }, required: ["handle", ...required] },
  };
}

function templateOf(definition: Offer["definition"], path: string): Offer["definition"] {
  const { uri: _uri, uriTemplate: _template, ...rest } = definition;
  const text = uriOf(definition);
  const alias = path === "" ? "{handle}" : `{handle}/${path}`;
  return { ...rest, uriTemplate: text.includes("{alias}") ? fillAlias(text, alias) : withSegment(text, "{handle}") };
}

function taken(kind: string, list: string, name: string): TroupeError {
  return new TroupeError(
    "BAD_DEFINITION",
    `${kind}: ${list}/${name} has an argument \`handle\`, which the cast needs for itself: rename it.`,
  );
}

/** The two tools around a handle's life. */
export function handleOffers(kind: string, expireMs: number): { readonly start: Offer; readonly end: Offer } {
  const life = sayDuration(expireMs);
  const handle = { type: "string", description: `Give it to every other tool of this ${kind}.` };
  return {
    start: {
      name: `start_${kind}`,
      action: "start",
      readOnly: false,
      definition: {
        description: `Start a new ${kind} and get its handle, which the other tools ask for. It is kept until ${life} have passed without a call; whoever knows the handle can use it.`,
        inputSchema: { type: "object", properties: {}, additionalProperties: false },
        outputSchema: { type: "object", properties: { handle, kept: { type: "string" } }, required: ["handle", "kept"] },
        annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      },
    },
    end: {
      name: `end_${kind}`,
      action: "end",
      readOnly: false,
      definition: {
        description: `End a ${kind} for good. Its handle is worth nothing afterwards.`,
        inputSchema: {
          type: "object",
          properties: { handle: { type: "string", description: `What start_${kind} returned.` } },
          required: ["handle"],
          additionalProperties: false,
        },
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      },
    },
  };
}
