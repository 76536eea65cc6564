import { clean, folded, plainWord } from "../../rules/text.ts";
import type { World } from "../../world/world.ts";
import { argument, fields, text } from "../message-shapes.ts";

const LONGEST = 24;
const SHORTEST = 2;

export const NAME = argument(
  {
    type: "object",
    properties: {
      name: {
        type: "string",
        description: "2 to 24 letters and digits of one script; ' and - between them; at most three words",
        minLength: SHORTEST,
        maxLength: LONGEST,
      },
    },
    required: ["name"],
  },
  fields({ name: text }),
);

/** Removes control and format characters and limits the length to one more than allowed, so that longer names are refused. */
export function tidyName(name: string): string {
  return clean(name, LONGEST + 1);
}

const RESERVED = new Set([
  "you",
  "me",
  "myself",
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
  // Words that `look` accepts for things.
  "monster",
  "chest",
  "note",
  "quest",
]);

const MAX_WORDS = 3;
/** Scripts with letters that look alike. A name must not mix them. */
const ALIKE = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Coptic}/u,
];

/** Whether all letters of a name are of one script, if one of them is of a script that looks like others. */
function isOfOneScript(name: string): boolean {
  const letters = Array.from(name).filter((one) => /\p{L}/u.test(one));
  return ALIKE.every((script) => !letters.some((one) => script.test(one)) || letters.every((one) => script.test(one)));
}

/** Why a name is not allowed; undefined if it is. */
export function nameProblem(world: World, name: string): string | undefined {
  const length = Array.from(name).length;
  if (length < SHORTEST || length > LONGEST) return `A name has ${SHORTEST} to ${LONGEST} characters: choose another.`;
  if (!/^[\p{L}\p{N}][\p{L}\p{M}\p{N} '-]*[\p{L}\p{M}\p{N}]$/u.test(name))
    return "A name is of letters and digits, with spaces, ' and - only between them: choose another.";
  if (!isOfOneScript(name)) return "The letters of a name are of one script: choose another.";
  if (name.split(" ").length > MAX_WORDS) return `A name has at most ${MAX_WORDS} words: choose another.`;
  if (/^the(?: |$)/i.test(name)) return "A name does not begin with The: choose another.";
  const plain = folded(name);
  if (plain.startsWith("wanderer")) return "Names that begin with wanderer are for those who have not chosen yet: choose another.";
  // A leading article makes no difference. Both forms are checked, since An is also a name.
  const plains = new Set([plain, folded(plainWord(name))]);
  const chests = Object.values(world.rooms).flatMap(({ chest }) => chest ?? []);
  const taken = [world.monsters, world.characters, world.items, chests]
    .flatMap((named) => Object.values<{ readonly name: string }>(named))
    .some((one) => plains.has(folded(plainWord(one.name))));
  return taken || Array.from(plains).some((one) => RESERVED.has(one))
    ? "That name means somebody or something else here: choose another."
    : undefined;
}
