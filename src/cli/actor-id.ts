import type { ActorId } from "../core/contract/index.ts";
import { usage } from "./exit-code.ts";

const isActorId = (text: string): text is ActorId => /^[a-z][a-z0-9-]{0,63}\/[^/\s]+$/.test(text);

/** `kind/key`, the key percent-encoded as `troupe actors` prints it. */
export const actorId = (text: string): ActorId => {
  if (isActorId(text)) return text;
  throw usage(`An actor is named kind/key, such as counter/main, not "${text}"; "troupe actors" lists them.`);
};
