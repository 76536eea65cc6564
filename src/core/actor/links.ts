// Owns: the links of a kind, as its definition declares them: which kinds each leads to, and what its functions may return. Does not own:
// when they are evaluated (availability.ts), what is offered behind them (mcp/source).
import { type ActorId, type Catalogue, TroupeError } from "../contract/index.ts";
import { isActorId, kindOf, shapeOf } from "../contract/internal.ts";
import { wrongResult } from "./author-errors.ts";
import type { AnyLink } from "./any-definition.ts";
import type { LinkedKind } from "./definition.ts";
import { checkKind } from "./names.ts";
import type { Allowed, Roles } from "./roles.ts";

/** It has `to`, or `by`: then an argument of each call names the key of its target. */
export interface CompiledLink {
  readonly prefix: string;
  /** How errors name it. */
  readonly name: string;
  readonly kinds: readonly string[];
  readonly allow: Allowed | undefined;
  readonly enabled: AnyLink["enabled"] | undefined;
  readonly to: AnyLink["to"] | undefined;
  readonly by: string | undefined;
  readonly choices: AnyLink["choices"] | undefined;
}

/** Throws `BAD_NAME` for a bad prefix or name of a kind, `BAD_DEFINITION` for kinds and arguments that do not fit together. */
export function compileLink(kind: string, prefix: string, link: AnyLink, roles: Roles): CompiledLink {
  const { kind: one, kinds, allow, enabled, to, by, choices } = link;
  if (!/^[A-Za-z0-9_-]{0,64}$/.test(prefix))
    throw new TroupeError("BAD_NAME", `${kind}: ${JSON.stringify(prefix)} is no prefix for a link: use A-Z, a-z, 0-9, _ and -.`);
  const where = `${kind}: links/${JSON.stringify(prefix)}`;
  if ((one === undefined) === (kinds === undefined))
    throw new TroupeError("BAD_DEFINITION", `${where} needs one of \`kind\` and \`kinds\`: the kinds of its targets.`);
  const linked = (kinds ?? [one]).map((each) => nameOfKind(each, where));
  if (linked.length === 0) throw new TroupeError("BAD_DEFINITION", `${where} leads nowhere: name a kind in \`kinds\`.`);
  if (to !== undefined && (by !== undefined || choices !== undefined))
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where} has \`to\`, which leads to one actor, and \`${by === undefined ? "choices" : "by"}\`, which is for many: leave one out.`,
    );
  const allowed = allow === undefined ? undefined : roles.allowed(allow, where);
  const name = `The link ${JSON.stringify(prefix)}`;
  if (to !== undefined) return { prefix, name, kinds: linked, allow: allowed, enabled, to, by, choices };
  const argument = checkArgument(by ?? prefix, where);
  if (linked.length > 1)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where} has no \`to\`, so a key names its actor, of one kind alone: make a link for each kind.`,
    );
  return { prefix, name, kinds: linked, allow: allowed, enabled, to, by: argument, choices };
}

/** The name of an argument of tools and prompts that is a variable in URIs, too. */
function checkArgument(name: string, where: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) && name !== "alias") return name;
  throw new TroupeError(
    "BAD_DEFINITION",
    `${where} has no \`to\`, so an argument names the key of its actor, and ${JSON.stringify(name)} is no name for one: give \`by\` (letters, digits and _, from a letter on; not "alias"), or \`to\`.`,
  );
}

function nameOfKind(linked: LinkedKind | undefined, where: string): string {
  if (typeof linked === "string") return checkKind(linked);
  if (typeof linked === "object" && linked !== null && typeof linked.kind === "string") return checkKind(linked.kind);
  throw new TroupeError(
    "BAD_DEFINITION",
    `${where} leads to ${shapeOf(linked)}: give a kind. Where two modules import each other, one of them is not evaluated yet: give the kind's name as text.`,
  );
}

/** For the catalogue: the arguments of links by argument, if there are any. */
export function linkArgumentsOf(links: readonly CompiledLink[]): Pick<Catalogue, "linkArguments"> {
  const named = links.flatMap(({ prefix, by }) => (by === undefined ? [] : [[prefix, by] as const]));
  return named.length === 0 ? {} : { linkArguments: Object.fromEntries(named) };
}

/** What `to` gave, as the target of the link now; throws `OUT_OF_ORDER` unless it is an actor of one of its kinds, or undefined. */
export function targetOf({ name, kinds }: CompiledLink, given: unknown): ActorId | undefined {
  if (given === undefined) return undefined;
  if (!isActorId(given))
    throw wrongResult(name, "to", given, "an id, as `kind.id(key)` makes it, or undefined; the reason why it is off is for `enabled`");
  const kind = kindOf(given);
  if (kinds.includes(kind)) return given;
  // The names of joined offers are planned from `kinds`: there is no place for those of another kind.
  throw new TroupeError(
    "OUT_OF_ORDER",
    `${name} is out of order: its \`to\` gave an actor of the kind ${JSON.stringify(kind.slice(0, 64))}, which its \`kinds\` do not have: add it there.`,
  );
}
