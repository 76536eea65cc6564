// Owns: the sentence that says by which rule an offer is off. Does not own: the author's reason.
import type { OfferShape } from "../../../../src/bridges/console/shapes.ts";

export function describeOff({ by, scopes = [], roles = [], reason, on }: OfferShape): string {
  if (on) return "";
  const hidden = reason === undefined ? " The author gave no reason, so to this viewer it does not exist." : "";
  switch (by) {
    case "enabled":
      return `By its rule "enabled", in this state.${hidden}`;
    case "allow":
      return `By its rule "allow": it needs ${roles.length < 2 ? `the role ${roles.join("")}` : `one of the roles ${roles.join(", ")}`}, which this viewer does not have.${hidden}`;
    case "scope":
      return scopes.length === 0
        ? "This viewer lacks a scope that it needs."
        : `It needs ${scopes.length === 1 ? "the scope" : "the scopes"} ${scopes.join(", ")}.`;
    case "failed":
      return "The actor has failed: restart it first.";
    case "link":
      return `Nothing is linked there now.${hidden}`;
    default:
      return hidden.trim();
  }
}
