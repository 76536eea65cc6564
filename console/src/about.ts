// Owns: what the server said it is, once for all pages. Does not own: the shape (src/bridges/console/shapes.ts).
import { signal } from "@preact/signals";
import { signOut } from "./session.ts";
import type { Ability, About } from "../../src/bridges/console/shapes.ts";

export const about = signal<About | undefined>(undefined);

export const can = (ability: Ability): boolean => about.value?.can.includes(ability) ?? false;

/** Whether there is what a page needs: the navigation has it then. */
export const isListed = ({ needs }: { readonly needs?: Ability }): boolean => needs === undefined || can(needs);

/** Why the server cannot do that. */
export const whyNot = (ability: Ability): string => about.value?.cannot[ability] ?? "This server does not offer it.";

/** A request was refused with 401 (api.ts) though earlier ones were not. One that never worked is the sign-in's to explain. */
export function noteRefused(): void {
  if (about.value === undefined) return;
  about.value = undefined;
  signOut("expired");
}
