import type { Bag, Json } from "../contract/index.ts";

export const isBag = (value: unknown): value is Bag => typeof value === "object" && value !== null && !Array.isArray(value);

/** A text field, or what to say instead. */
export const textOr = (value: Json | undefined, otherwise: string): string => (typeof value === "string" ? value : otherwise);
