// Owns: the pages in the navigation, in order. Does not own: what they show.

export interface NavigationItem {
  readonly path: string;
  readonly label: string;
  /** One line for the command palette. */
  readonly what: string;
}

export const NAVIGATION: readonly NavigationItem[] = [
  { path: "/", label: "Overview", what: "What runs, how fast, and what needs attention" },
  { path: "/actors", label: "Actors", what: "Find actors by id, kind, status and contents" },
  { path: "/playground", label: "Playground", what: "Call tools, read resources and get prompts as an MCP client" },
];
