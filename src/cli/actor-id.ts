import type { ActorId } from "../contract/index.ts";
import { handleActor, isHandle } from "../source/handle.ts";
import { usage } from "./exit-code.ts";

const isActorId = (text: string): text is ActorId => /^[a-z][a-z0-9-]{0,63}\/[^/\s]+$/.test(text);

/** `kind/key`, the key percent-encoded as `troupe actors` prints it, or a handle as its client has it. */
export const actorId = (text: string): ActorId => {
  if (isActorId(text)) {
    const at = text.indexOf("/");
    const key = text.slice(at + 1);
    return isHandle(key) ? handleActor(text.slice(0, at), key) : text;
  }
  throw usage(`An actor is named kind/key, such as counter/main, not "${text}"; "troupe actors" lists them.`);
};
