import { type JsonObject, type ChainEvent, isJsonObject, type Json, TroupeError } from "../../../core/contract/index.ts";
import type { SearchKind } from "./fields.ts";

/** What of an event matters here. */
export interface Reading {
  readonly id: string;
  readonly life: string;
  readonly seq: number;
  readonly parent: string | null;
  readonly at: number;
  /** Absent: the body was erased. */
  readonly message?: JsonObject;
  readonly reply?: Json;
}

/** Throws `STORE_CORRUPT`. */
export function readEvent({ id, header, body }: ChainEvent): Reading {
  const { life, seq, parent, at } = parsed(header, id);
  if (typeof life !== "string" || typeof seq !== "number" || typeof at !== "number" || !(parent === null || typeof parent === "string"))
    throw damaged(id);
  const known = { id, life, seq, parent, at };
  if (body === undefined) return known;
  const { message, reply } = parsed(body, id);
  if (!isJsonObject(message)) throw damaged(id);
  return { ...known, message, ...(reply === undefined ? {} : { reply }) };
}

function parsed(text: string, id: string): JsonObject {
  try {
    const value: Json = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw damaged(id, error);
  }
  throw damaged(id);
}

const damaged = (id: string, cause?: unknown): TroupeError =>
  new TroupeError("STORE_CORRUPT", `Event ${id} cannot be read: verify the chain, and restore the store from a copy.`, { cause });

/** Who may find what an actor holds. `nobody`: it is some starter's, of whom nothing is known; who knows its key may look in it. */
export type Owner = { readonly principal: string } | "everybody" | "nobody";

/** The first event of a life says whose it is, as the engine decided it then. Undefined: it cannot be told from this one. */
export function ownerAtBirth({ policy }: SearchKind, { message }: Reading): Owner | undefined {
  if (message === undefined) return undefined;
  const override = message["start"] === undefined ? undefined : message["policy"];
  const owner = (isJsonObject(override) ? override["owner"] : undefined) ?? policy.owner;
  const viewer = message["viewer"];
  const principal = isJsonObject(viewer) ? viewer["principal"] : undefined;
  return owner === "anyone" ? "everybody" : typeof principal === "string" ? { principal } : "nobody";
}
