import type { ActorId } from "../core/contract/index.ts";
import { actorId } from "./actor-id.ts";

/** As `actorId`, or by its handle, as its client has it. */
export const namedActor = async (text: string): Promise<ActorId> => {
  const id = actorId(text);
  const at = id.indexOf("/");
  // What reads handles is loaded only where there may be one.
  if (!id.startsWith("h_", at + 1)) return id;
  const { handleActor, isHandle } = await import("../mcp/source/actor-access.ts");
  const key = id.slice(at + 1);
  return isHandle(key) ? handleActor(id.slice(0, at), key) : id;
};
