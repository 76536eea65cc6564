// Owns: the roles that a kind's `allow` defines: who has them, what offers are for them alone, and the caller as actors see it. Does not
// own: when offers are decided (availability.ts), claims (mcp/transport/auth).
import { type ActorViewer, type Json, TroupeError, type Viewer } from "../contract/index.ts";
import { didYouMean, getOwn, isTexts } from "../contract/internal.ts";
import { outOfOrder, wrongResult } from "./author-errors.ts";
import type { AnyDefinition, AnyRole } from "./any-definition.ts";
import type { RoleContext } from "./definition.ts";

type OnFault = (error: TroupeError) => void;

/** The caller as the actors of a kind see it. */
export type SeenBy = (viewer: Viewer & ActorViewer, onFault?: OnFault) => ActorViewer;

interface CompiledRole {
  readonly name: string;
  readonly holds: (context: RoleContext) => unknown;
  readonly reason: string | false | undefined;
}

/** The roles that an offer is for, one of which is enough. */
export interface Allowed {
  readonly roles: readonly string[];
  /** For callers without any of them: the reason, or false, hidden. */
  readonly otherwise: string | false;
}

export const hasRole = ({ roles }: Allowed, viewer: ActorViewer): boolean => roles.some((role) => viewer.roles?.includes(role) === true);

/**
 * Whether a member of the caller's claims is this text, or a list that contains it. False without such a claim.
 *
 * @example
 * ```ts
 * import { actor, hasClaim } from "troupe";
 * import * as z from "zod";
 *
 * export const alarm = actor("alarm", {
 *   description: "An alarm that only responders may acknowledge.",
 *   state: z.object({ on: z.boolean().default(true) }),
 *   allow: { responder: { holds: ({ viewer }) => hasClaim(viewer, "groups", "responders"), reason: "Only responders may do this." } },
 *   tools: {
 *     acknowledge: {
 *       description: "Turn it off.",
 *       allow: "responder",
 *       run({ state }) {
 *         state.on = false;
 *       },
 *     },
 *   },
 * });
 * ```
 */
export function hasClaim({ claims }: Pick<Viewer, "claims">, name: string, value: string): boolean {
  const claim: Json | undefined = getOwn(claims, name);
  return claim === value || (Array.isArray(claim) && claim.includes(value));
}

/** What a kind's `allow` defines. */
export class Roles {
  readonly #roles: ReadonlyMap<string, CompiledRole>;
  readonly #reported = new Set<string>();

  constructor(allow: NonNullable<AnyDefinition["allow"]>) {
    this.#roles = new Map(Object.entries(allow).map(([name, role]) => [name, compileRole(name, role)]));
  }

  /** Throws `BAD_DEFINITION` for a role that `allow` does not define. */
  allowed(names: string | readonly string[], where: string): Allowed {
    const roles = typeof names === "string" ? [names] : names;
    if (!isTexts(roles) || roles.length === 0)
      throw new TroupeError("BAD_DEFINITION", `${where}: \`allow\` is the name of a role, or a list of names: allow: "responder".`);
    const found = roles.map((name) => this.#roles.get(name) ?? this.#unknown(name, where));
    const reasons = found.map(({ reason }) => reason);
    const given = reasons.find((reason) => typeof reason === "string");
    const isHidden = reasons.every((reason) => reason === false);
    return { roles, otherwise: isHidden ? false : (given ?? `Only those with the role ${listed(roles)} may do this.`) };
  }

  #unknown(name: string, where: string): never {
    const all = [...this.#roles.keys()];
    const there = all.length === 0 ? "The kind has no `allow`: define its roles there." : `There are ${all.join(", ")}.`;
    throw new TroupeError("BAD_DEFINITION", `${where}: there is no role ${JSON.stringify(name)}${didYouMean(name, all)} ${there}`);
  }

  /** The names of the roles that the caller has. One whose function throws, or returns no boolean, is reported once, and not had. */
  of(viewer: Viewer, onFault?: OnFault): readonly string[] {
    const names: string[] = [];
    for (const { name, holds } of this.#roles.values()) {
      try {
        const held = holds({ viewer });
        if (held === true) names.push(name);
        else if (held !== false) throw wrongResult(`The role ${JSON.stringify(name)}`, "holds", held, "true or false");
      } catch (error) {
        if (onFault === undefined || this.#reported.has(name)) continue;
        this.#reported.add(name);
        onFault(outOfOrder(`The role ${JSON.stringify(name)}`, "holds", error));
      }
    }
    return Object.freeze(names);
  }
}

function compileRole(name: string, role: AnyRole): CompiledRole {
  return typeof role === "function" ? { name, holds: role, reason: undefined } : { name, holds: role.holds, reason: role.reason };
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1) ?? ""}`;
}

const PARTS = ["principal", "self", "scopes", "rolesByKind"] as const;

/**
 * The caller as actors of the kind see it: without claims, with the roles it has. Those that a message brings were decided from the claims
 * when its caller called, so they hold in its turn, and when the turn is replayed.
 */
export const actorViewer = (kind: string, roles: Roles | undefined, viewer: Viewer & ActorViewer, onFault?: OnFault): ActorViewer =>
  roles === undefined && viewer.claims === undefined ? viewer : withRoles(kind, roles, viewer, onFault);

function withRoles(kind: string, roles: Roles | undefined, viewer: Viewer & ActorViewer, onFault?: OnFault): ActorViewer {
  // Getters, so that a list depends only on those parts of the viewer that the author's code reads.
  const seen: ActorViewer = { scopes: [] };
  for (const part of PARTS)
    if (Object.hasOwn(viewer, part)) Object.defineProperty(seen, part, { get: () => viewer[part], enumerable: true, configurable: true });
  if (roles !== undefined) {
    let names: readonly string[] | undefined;
    const get = (): readonly string[] => (names ??= getOwn(viewer.rolesByKind, kind) ?? roles.of(viewer, onFault));
    Object.defineProperty(seen, "roles", { get, enumerable: true });
  }
  return Object.freeze(seen);
}
