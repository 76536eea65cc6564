// Owns: the tabs of an actor's page, in order. Does not own: what they show.
import type { ComponentType } from "preact";
import { lazy } from "preact/compat";
import type { ActorDetail } from "../../../../src/bridges/console/shapes.ts";

export interface ActorTabProps {
  /** As it is now: the page loads it again when it changes. */
  readonly actor: ActorDetail;
  /** Loads it again, after an operation. */
  readonly reload: () => void;
}

interface ActorTab {
  /** The parameter `tab` of the address. */
  readonly id: string;
  readonly label: string;
  readonly View: ComponentType<ActorTabProps>;
}

// Each is a file of its own in the bundle, loaded when it is opened first.
export const ACTOR_TABS: readonly [ActorTab, ...ActorTab[]] = [
  { id: "state", label: "State", View: lazy(async () => (await import("./state.tsx")).StateTab) },
  { id: "offers", label: "Tools and access", View: lazy(async () => (await import("./offers.tsx")).OffersTab) },
  { id: "history", label: "History", View: lazy(async () => (await import("./history.tsx")).HistoryTab) },
  { id: "causes", label: "Causes", View: lazy(async () => (await import("./causes.tsx")).CausesTab) },
  { id: "relations", label: "Relations", View: lazy(async () => (await import("./relations.tsx")).RelationsTab) },
];
