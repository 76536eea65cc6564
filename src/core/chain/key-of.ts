import { keyIn } from "../contract/internal.ts";
import { badId } from "./faults.ts";

// Who begins an actor has its id read twice. Some id that is one, at first.
let lastId = "a/a";
let lastKey = "a";

/** The key in clear. Throws `BAD_ID`. */
export function keyOf(id: string): string {
  if (id === lastId) return lastKey;
  const key = keyIn(id);
  if (key === undefined) throw badId(id);
  lastId = id;
  lastKey = key;
  return key;
}
