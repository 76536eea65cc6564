// Owns: what an edit makes of a state: the state that replaces it, or a JSON Merge Patch (RFC 7396). Does not own: its event.

import { isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import { getOwn, setOwn } from "../../core/contract/internal.ts";
import { badUsage } from "./operation-error.ts";

/** The change that `state`, or `patch`, describes. Throws `USAGE` for both or neither. */
export function changeOf({ state, patch }: JsonObject): (before: Json) => Json {
  if ((state === undefined) === (patch === undefined))
    throw badUsage('Give either "state", the whole of it, or "patch", a JSON Merge Patch.');
  return state === undefined ? (before) => mergePatch(before, patch ?? null) : () => state;
}

/** RFC 7396: members of the patch replace those of the target, objects are merged, and null removes a member. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const merged: Record<string, Json> = {};
  const before = isJsonObject(target) ? target : {};
  for (const [key, value] of Object.entries(before)) if (getOwn(patch, key) !== null) setOwn(merged, key, value);
  for (const [key, value] of Object.entries(patch)) if (value !== null) setOwn(merged, key, mergePatch(getOwn(before, key) ?? null, value));
  return merged;
}
