import { sha256Hex, utf8Length } from "../../core/platform/index.ts";
import { ID_BYTES } from "./packet-limits.ts";

const HASHED = "sha256|";

/** The actor that is a user's where none is named; where both together are too long for an id, the user by a hash. */
export function ownName(capability: string, principal: string): string {
  const name = `${capability}:${principal}`;
  // Or a principal of that form would have the name of the one it is the hash of.
  return utf8Length(name) <= ID_BYTES && !principal.startsWith(HASHED) ? name : `${capability}:${HASHED}${sha256Hex(principal)}`;
}

/** It would be somebody's where none is named, and not that user's. */
export const isOthersName = (capability: string, principal: string, actor_id: string): boolean =>
  actor_id.startsWith(`${capability}:`) && actor_id !== ownName(capability, principal);
