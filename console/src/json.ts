// Owns: reading JSON values of unknown shape: what a value is, and members by name. Does not own: paths in them (json-paths.ts).
import type { Json, JsonObject } from "../../src/core/contract/index.ts";

export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

export const objectIn = (value: JsonObject | undefined, name: string): JsonObject => {
  const member = value?.[name];
  return isObject(member) ? member : {};
};

export const textIn = (value: JsonObject | undefined, name: string): string | undefined => {
  const member = value?.[name];
  return typeof member === "string" ? member : undefined;
};

export const listIn = (value: JsonObject | undefined, name: string): readonly JsonObject[] => {
  const member = value?.[name];
  return Array.isArray(member) ? member.filter(isObject) : [];
};
