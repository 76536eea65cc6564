// Owns: which rows a tree has: what is open, what is cut, what matches a search. Does not own: drawing them.
import type { Json } from "../../../../src/core/contract/index.ts";
import { membersOf, pathOf } from "../../json-paths.ts";
import { isList, isObject } from "../../json.ts";

export interface TreeRow {
  /** `more`: in place of members that are not listed yet. */
  readonly kind: "value" | "more";
  readonly path: string;
  readonly parent: string;
  readonly name: string;
  readonly value: Json;
  readonly depth: number;
  /** Undefined: there is nothing to open. */
  readonly open?: boolean;
}

const LONG_TEXT = 120;
const MOST_MATCHES = 300;

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

const isLong = (value: Json): boolean => typeof value === "string" && value.length > LONG_TEXT;

export function rowsOf(
  value: Json,
  {
    isOpen,
    most,
    only,
  }: {
    readonly isOpen: (path: string, depth: number) => boolean;
    /** How many members of a path are listed. */
    readonly most: (path: string) => number;
    /** Only these paths, and those within one that matches. */
    readonly only?: Matches;
  },
): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (path: string, parent: string, name: string, own: Json, depth: number, whole: boolean): void => {
    const members = membersOf(own);
    const long = isLong(own);
    // A long text is closed until it is opened, wherever it is.
    const open = members.length === 0 && !long ? undefined : isOpen(path, long ? 99 : depth);
    rows.push({ kind: "value", path, parent, name, value: own, depth, ...(open === undefined ? {} : { open }) });
    if (open !== true || long) return;
    const inside = whole || only === undefined || only.hits.has(path);
    const listed = inside ? members : members.filter(([key]) => only.paths.has(pathOf(path, key)));
    const shown = listed.slice(0, most(path));
    for (const [key, member] of shown) add(pathOf(path, key), path, key, member, depth + 1, inside);
    const rest = listed.length - shown.length;
    if (rest > 0)
      rows.push({
        kind: "more",
        path: `${path} more`,
        parent: path,
        name: `${rest.toLocaleString()} more`,
        value: null,
        depth: depth + 1,
      });
  };
  if (only === undefined || only.paths.size > 0) add("", "", "value", value, 0, only === undefined);
  return rows;
}

export interface Matches {
  /** Those that match, and all above them. */
  readonly paths: ReadonlySet<string>;
  readonly hits: ReadonlySet<string>;
}

/** The paths whose name or value has the text. */
export function matching(value: Json, text: string): Matches {
  const wanted = text.toLowerCase();
  const paths = new Set<string>();
  const hits = new Set<string>();
  const look = (path: string, name: string, own: Json): void => {
    if (hits.size >= MOST_MATCHES) return;
    const plain = isList(own) || isObject(own) ? "" : String(own).toLowerCase();
    if ((path !== "" && name.toLowerCase().includes(wanted)) || plain.includes(wanted)) {
      hits.add(path);
      for (let above = path; !paths.has(above); above = parentOf(above)) paths.add(above);
    }
    for (const [key, member] of membersOf(own)) look(pathOf(path, key), key, member);
  };
  look("", "", value);
  return { paths, hits };
}

/** How many values there are, counted up to `most`. */
export function nodesIn(value: Json, most: number): number {
  let count = 0;
  const walk = (own: Json): void => {
    count += 1;
    if (count >= most) return;
    for (const [, member] of membersOf(own)) {
      if (count >= most) return;
      walk(member);
    }
  };
  walk(value);
  return count;
}
