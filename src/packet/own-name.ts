import { sha256Hex, utf8Length } from "../platform/index.ts";
import { ID_BYTES } from "./packet-limits.ts";

/** The actor that is a user's where none is named; where both together are too long for an id, the user by a hash. */
export function ownName(capability: string, principal: string): string {
  const name = `${capability}:${principal}`;
  return utf8Length(name) <= ID_BYTES ? name : `${capability}:sha256|${sha256Hex(principal)}`;
}

/** It would be somebody's where none is named, and not that user's. */
export const isOthersName = (capability: string, principal: string, actor_id: string): boolean =>
  actor_id.startsWith(`${capability}:`) && actor_id !== ownName(capability, principal);
