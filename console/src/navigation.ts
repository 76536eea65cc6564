// Owns: the pages in the navigation, in order. Does not own: what they show.

import type { Ability, Overview } from "../../src/bridges/console/shapes.ts";
import { isDismissed } from "./dismissed.ts";

export interface NavigationItem {
  readonly path: string;
  readonly label: string;
  /** One line for the command palette. */
  readonly what: string;
  /** It begins a group of pages. */
  readonly group?: string;
  /** Left out where the server has none; the command palette still leads there. */
  readonly needs?: Ability;
  /** How many things wait there for an operator. */
  readonly count?: (figures: Overview) => number | undefined;
}

export const NAVIGATION: readonly NavigationItem[] = [
  { path: "/", label: "Overview", what: "What runs, how fast, and what needs attention" },
  {
    path: "/doctor",
    label: "Doctor",
    what: "What is wrong or unwise, and what to do about it",
    count: ({ attention }) => attention.filter((finding) => finding.level !== "note" && !isDismissed(finding)).length,
  },
  { path: "/log", label: "Log", what: "What the server logged, live" },
  { path: "/actors", label: "Actors", what: "Find actors by id, kind, status and contents" },
  { path: "/guests", label: "Guests", what: "Actors that are written in WebAssembly", needs: "guests" },
  { path: "/query", label: "Query", what: "Ask your own questions of actors, events and messages in SQL" },
  { path: "/playground", label: "Playground", what: "Call tools, read resources and get prompts as an MCP client" },
  { path: "/traffic", label: "Traffic", what: "Live requests by session, with their messages", group: "Clients" },
  { path: "/sessions", label: "Sessions", what: "Who is connected, and which client is slow" },
  { path: "/tasks", label: "Tasks", what: "Calls that outlive their reply" },
  { path: "/packets", label: "Packets", what: "Capabilities, and the packets that request them", needs: "packets" },
  {
    path: "/letters",
    label: "Dead letters",
    what: "Messages that could not be delivered, and why",
    group: "Waiting",
    count: ({ letters }) => letters,
  },
  { path: "/timers", label: "Timers", what: "What actors will do by themselves, soonest first" },
  { path: "/outbox", label: "Outbox", what: "Messages between actors that are on their way" },
];
