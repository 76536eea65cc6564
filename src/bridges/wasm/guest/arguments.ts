import { type ActorId, isJsonObject, type Json, type Message } from "../../../core/contract/index.ts";
import type { Beginning } from "../guest-options.ts";
import type { ChannelEnd } from "../guest-state.ts";

/** Of a message's arguments: undefined where they are no text, or not there. */
export function textIn({ args }: Message, name: string): string | undefined {
  const value = isJsonObject(args) && Object.hasOwn(args, name) ? args[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/u;

/** Undefined: there are none, or they are no base64. */
export function bytesIn(message: Message, name: string): Uint8Array | undefined {
  const text = textIn(message, name);
  return text === undefined || text.length % 4 !== 0 || !BASE64.test(text) ? undefined : new Uint8Array(Buffer.from(text, "base64"));
}

export function endIn({ args }: Message): ChannelEnd | undefined {
  const end = isJsonObject(args) ? args["end"] : undefined;
  if (!isJsonObject(end)) return undefined;
  const { actor, host } = end;
  if (isActorId(actor)) return { actor };
  return typeof host === "string" && host !== "" ? { host } : undefined;
}

const isActorId = (value: unknown): value is ActorId => typeof value === "string" && /^[a-z][a-z0-9-]{0,63}\/.+$/u.test(value);

const isDigest = (value: Json | undefined): value is string => typeof value === "string" && /^[0-9a-f]{64}$/u.test(value);

export function beginningIn({ start }: Message): Beginning | undefined {
  if (!isJsonObject(start)) return undefined;
  const { manifest, component, name, origin, initialState, resume, generation } = start;
  if (!isDigest(manifest) || !isDigest(component) || typeof name !== "string") return undefined;
  if (initialState !== undefined && !isDigest(initialState)) return undefined;
  return {
    manifest,
    component,
    name,
    ...(typeof origin === "string" ? { origin } : {}),
    ...(initialState === undefined ? {} : { initialState }),
    ...(resume === true ? { resume } : {}),
    ...(typeof generation === "number" ? { generation } : {}),
  };
}

/** Neither an actor's nor a viewer's: of whoever runs this engine. */
export const isOwn = ({ from, viewer }: Message): boolean => from === undefined && viewer === undefined;
