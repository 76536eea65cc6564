import type { Json } from "../core/contract/index.ts";

/** A text field, or what to say instead. */
export const textOr = (value: Json | undefined, otherwise: string): string => (typeof value === "string" ? value : otherwise);
