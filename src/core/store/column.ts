import { StoreError, type ActorId, type Json } from "../contract/index.ts";

/** `data.seq` is the event that cannot be read, where it is one. */
export const damaged = (what: string, cause?: unknown, data?: { readonly seq: number }): StoreError =>
  new StoreError(
    "STORE_CORRUPT",
    `The store's file is damaged: ${what}. Restore it from a copy; \`troupe verify\` says which actors are whole.`,
    { cause, ...(data === undefined ? {} : { data }) },
  );

/** Columns come back as whatever the file says. */
export function int(value: unknown): number {
  if (typeof value === "number") return value;
  throw damaged("a number is missing");
}

export function maybeInt(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : int(value);
}

export function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw damaged("a text is missing");
}

export function maybeText(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : text(value);
}

export function parsed(value: unknown): Json {
  try {
    return JSON.parse(text(value));
  } catch (error) {
    throw damaged("a row is not what was written", error);
  }
}

export const actorId = (kind: unknown, key: unknown): ActorId => `${text(kind)}/${text(key)}`;

export function split(id: ActorId): readonly [kind: string, key: string] {
  const slash = id.indexOf("/");
  return [id.slice(0, slash), id.slice(slash + 1)];
}
