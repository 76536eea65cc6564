// Owns: the commands of the console's palette. Does not own: when they are loaded (command-palette.tsx), the list (ui/palette.tsx).
import type { ActorPage } from "../../../src/bridges/console/shapes.ts";
import { about, can, isListed } from "../about.ts";
import { get } from "../api.ts";
import { textIn } from "../json.ts";
import { NAVIGATION } from "../navigation.ts";
import { lists } from "../pages/playground/connection.ts";
import { callPath, saved } from "../pages/playground/saved.ts";
import { savedViews } from "../saved-views.ts";
import { signOut } from "../session.ts";
import { letterOf } from "../shortcuts.ts";
import { theme } from "../theme.ts";
import { readable } from "../ui/actor-link.tsx";
import { copyText } from "../ui/copy.tsx";
import type { Command } from "../ui/palette.tsx";

const MAX_ACTORS = 8;

type Go = (path: string) => void;

export const commandsOf = (go: Go, help: () => void, connect: () => void): readonly Command[] => [
  ...pages(go),
  ...kinds(go),
  ...tools(go),
  ...savedCalls(go),
  ...views(go),
  ...actions(help, connect),
];

const pages = (go: Go): readonly Command[] =>
  NAVIGATION.filter(isListed).map(({ path, label, what }) => {
    const letter = letterOf(path);
    return {
      id: `page ${path}`,
      group: "Pages",
      label,
      what,
      run: () => go(path),
      ...(letter === undefined ? {} : { keys: ["g", letter] }),
    };
  });

const kinds = (go: Go): readonly Command[] =>
  (about.value?.kinds ?? []).map(({ kind, description, actors: count }) => ({
    id: `kind ${kind}`,
    group: "Kinds of actors",
    label: kind,
    what: description ?? `${count.toLocaleString()} ${count === 1 ? "actor" : "actors"}`,
    run: () => go(`/actors?kind=${encodeURIComponent(kind)}`),
  }));

// Those that the playground has loaded: opening the palette connects to nothing.
const tools = (go: Go): readonly Command[] =>
  (lists.value.tools ?? []).map((tool) => {
    const name = textIn(tool, "name") ?? "";
    return {
      id: `tool ${name}`,
      group: "Tools",
      label: name,
      what: textIn(tool, "title") ?? textIn(tool, "description") ?? "",
      run: () => go(callPath({ kind: "tool", name })),
    };
  });

const savedCalls = (go: Go): readonly Command[] =>
  saved.value.map((call) => ({
    id: `saved ${call.title}`,
    group: "Saved calls",
    label: call.title,
    what: call.name,
    run: () => go(callPath(call, call.arguments)),
  }));

const views = (go: Go): readonly Command[] =>
  savedViews.value.map(({ page, title, path }) => ({
    id: `view ${page} ${title}`,
    group: "Saved views",
    label: title,
    what: page,
    run: () => go(path),
  }));

const actions = (help: () => void, connect: () => void): readonly Command[] => [
  ...(about.value?.mcp === undefined
    ? []
    : [{ id: "connect", group: "Actions", label: "Connect a client", what: "Claude, VS Code, Cursor, curl, SDKs", run: connect }]),
  ...(["light", "dark", "system"] as const)
    .filter((one) => one !== theme.value)
    .map((one) => ({
      id: `theme ${one}`,
      group: "Actions",
      label: one === "system" ? "Theme as the system's" : `Use the ${one} theme`,
      run: () => (theme.value = one),
    })),
  { id: "copy link", group: "Actions", label: "Copy a link to this view", run: () => void copyText(location.href, "the link") },
  { id: "help", group: "Actions", label: "List the keyboard shortcuts", keys: ["?"], run: help },
  { id: "sign out", group: "Actions", label: "Sign out", run: () => signOut() },
];

/** Those that the server finds, and where else to look. */
export async function searchActors(go: Go, text: string, signal: AbortSignal): Promise<readonly Command[]> {
  const { items } = await get<ActorPage>("/actors", { search: text, limit: MAX_ACTORS }, signal);
  const found = items.map(({ id, status }): Command => ({
    id: `actor ${id}`,
    group: "Actors",
    label: readable(id),
    what: status,
    run: () => go(`/actors/${id}`),
  }));
  const inEvents: Command = {
    id: "find text",
    group: "Events and states",
    label: `Search events and states for “${text}”`,
    run: () => go(`/search?text=${encodeURIComponent(text)}`),
  };
  const more = can("sql") ? [inEvents] : [];
  const inPlayground: Command = {
    id: "find tool",
    group: "Playground",
    label: `Find “${text}” among the tools`,
    run: () => go(`/playground?find=${encodeURIComponent(text)}`),
  };
  return [...found, ...more, ...(about.value?.mcp === undefined ? [] : [inPlayground])];
}
