import { clean } from "../../rules/words.ts";
import type { World } from "../../world/world.ts";
import { argument, fields, text } from "../shape.ts";
import { folded } from "./player-state.ts";

const LONGEST = 24;
const SHORTEST = 2;

export const NAME = argument(
  {
    type: "object",
    properties: {
      name: {
        type: "string",
        description: "2 to 24 letters and digits; spaces, ' and - between them",
        minLength: SHORTEST,
        maxLength: LONGEST,
      },
    },
    required: ["name"],
  },
  fields({ name: text }),
);

/** Control and format characters gone, bounded; one longer than allowed stays so long that it is refused. */
export function tidyName(name: string): string {
  return clean(name, LONGEST + 1);
}

const RESERVED = new Set([
  "you",
  "me",
  "self",
  "everybody",
  "everyone",
  "nobody",
  "somebody",
  "someone",
  "system",
  "admin",
  "assistant",
  "user",
]);

/** Why nobody can be called that. */
export function nameProblem(world: World, name: string): string | undefined {
  const length = Array.from(name).length;
  if (length < SHORTEST || length > LONGEST) return `A name has ${SHORTEST} to ${LONGEST} characters: choose another.`;
  if (!/^[\p{L}\p{N}][\p{L}\p{M}\p{N} '-]*[\p{L}\p{M}\p{N}]$/u.test(name))
    return "A name is of letters and digits, with spaces, ' and - only between them: choose another.";
  const plain = folded(name);
  if (plain.startsWith("wanderer")) return "Names that begin with wanderer are for those who have not chosen yet: choose another.";
  const taken = [...Object.values(world.monsters), ...Object.values(world.characters), ...Object.values(world.items)].some(
    (one) => folded(one.name) === plain,
  );
  return taken || RESERVED.has(plain) ? "That name means somebody or something else here: choose another." : undefined;
}
