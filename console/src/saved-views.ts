// Owns: views that the user saved under a name: a page with its filters and order, in this browser, for each server. Does not own: the
// dialog (ui/saved-views.tsx).
import { computed, signal } from "@preact/signals";
import { about } from "./about.ts";
import { BASE } from "./base-path.ts";
import { isObject } from "./json.ts";
import { readStored, writeStored } from "./stored.ts";

export interface SavedView {
  /** What the user calls it. */
  readonly title: string;
  /** The page: `Actors`. */
  readonly page: string;
  /** Below the console's own: `/actors?kind=desk`. */
  readonly path: string;
}

const MOST = 200;
const MOST_CHARACTERS = 4_000;
/** Where one is on the page, and not what is listed. */
const PASSING = ["after", "open"];

/** Those that were saved since the page was loaded, by where they are stored. */
const changed = signal<Readonly<Record<string, readonly SavedView[]>>>({});

// Servers that are started one after another share an address.
const storedAs = (): string => `troupe-console-views ${about.value?.name ?? ""}`;

/** By title. */
export const savedViews = computed((): readonly SavedView[] => {
  const at = storedAs();
  return changed.value[at] ?? read(at);
});

/** The view that is open. Its path has no place in a list. */
export function currentPath(): string {
  const params = new URLSearchParams(location.search);
  for (const name of PASSING) params.delete(name);
  const path = location.pathname.slice(BASE.length);
  return params.size === 0 ? path : `${path}?${params}`;
}

/** One of the same page and title is replaced. */
export const saveView = (view: SavedView): void => store([...savedViews.value.filter((one) => !isSame(one, view)), view]);

export const removeView = (view: SavedView): void => store(savedViews.value.filter((one) => !isSame(one, view)));

const isSame = (one: SavedView, other: SavedView): boolean => one.page === other.page && one.title === other.title;

function store(views: readonly SavedView[]): void {
  const sorted = views.toSorted((one, other) => one.title.localeCompare(other.title)).slice(0, MOST);
  writeStored(storedAs(), sorted);
  changed.value = { ...changed.value, [storedAs()]: sorted };
}

function read(name: string): readonly SavedView[] {
  const stored = readStored(name);
  return Array.isArray(stored) ? stored.filter(isView).slice(0, MOST) : [];
}

const isText = (value: unknown): value is string => typeof value === "string" && value.length <= MOST_CHARACTERS;

function isView(value: unknown): value is SavedView {
  if (!isObject(value)) return false;
  const { title, page, path } = value;
  return isText(title) && isText(page) && isText(path) && /^\/(?!\/)/.test(path);
}
