import { hash } from "node:crypto";

/** Ids that follow from a message's seed: work that runs again makes the same ones. 64 hex digits. */
export const derived = (seed: string, what: string, n: number): string => hash("sha256", `${seed}:${what}:${n}`, "hex");

export function derivedUuid(seed: string, what: string, n: number): string {
  const hex = derived(seed, what, n);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;
export const isUuid = (text: string): boolean => UUID.test(text);
