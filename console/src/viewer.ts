// Owns: as whom the page looks at an actor: in the address, and those chosen lately in this browser. Does not own: the picker
// (ui/viewer-picker.tsx).
import { signal } from "@preact/signals";
import type { JsonObject } from "../../src/core/contract/index.ts";
import type { ViewerShape } from "../../src/bridges/console/shapes.ts";
import { isObject } from "./json.ts";
import { useParameter } from "./page-state.ts";
import { readStored, writeStored } from "./stored.ts";

/** The revisions of MCP, newest first, and the mode of lists that each has unless the server's options say otherwise. */
export const REVISIONS = [
  { revision: "2026-07-28", lists: "static" },
  { revision: "2025-11-25", lists: "dynamic" },
  { revision: "2025-06-18", lists: "dynamic" },
  { revision: "2025-03-26", lists: "dynamic" },
  { revision: "2024-11-05", lists: "dynamic" },
] as const;

const NEWEST_SESSIONS = "2025-11-25";

export interface ChosenViewer {
  /** Empty: an anonymous user. */
  readonly principal: string;
  /** Separated by spaces. */
  readonly scopes: string;
  /** A JSON object, or empty. */
  readonly claims: string;
  readonly revision: string;
  /** Empty: that of the revision. */
  readonly lists: string;
}

type ViewerPart = keyof ChosenViewer;

export interface ViewerState extends ChosenViewer {
  readonly set: (part: ViewerPart, value: string) => void;
}

/** What of a viewer is its own, and not its client's. */
export type Caller = Pick<ChosenViewer, "principal" | "scopes" | "claims">;

/** That in the address now, which may be newer than what was drawn. */
export function callerInAddress(): Caller {
  const params = new URLSearchParams(location.search);
  return { principal: params.get("as") ?? "", scopes: params.get("scopes") ?? "", claims: params.get("claims") ?? "" };
}

/** As the server has seen it. */
export const callerOf = ({ principal = "", scopes, claims }: ViewerShape): Caller => ({
  principal,
  scopes: scopes.join(" "),
  claims: claims === undefined || Object.keys(claims).length === 0 ? "" : JSON.stringify(claims),
});

/** As parameters of an address. */
export const callerParameters = ({ principal, scopes, claims }: Caller): [name: string, value: string][] =>
  Object.entries({ as: principal, scopes, claims }).filter(([, value]) => value !== "");

export function useViewer(): ViewerState {
  const [principal, setPrincipal] = useParameter("as");
  const [scopes, setScopes] = useParameter("scopes");
  const [claims, setClaims] = useParameter("claims");
  const [revision, setRevision] = useParameter("revision", NEWEST_SESSIONS);
  const [lists, setLists] = useParameter("lists");
  const setters = { principal: setPrincipal, scopes: setScopes, claims: setClaims, revision: setRevision, lists: setLists };
  return { principal, scopes, claims, revision, lists, set: (part, value) => setters[part](value) };
}

export const listModeOf = ({ lists, revision }: ChosenViewer): "dynamic" | "static" => {
  if (lists === "static" || lists === "dynamic") return lists;
  return REVISIONS.find((one) => one.revision === revision)?.lists ?? "dynamic";
};

const scopesOf = (text: string): readonly string[] => text.split(/[\s,]+/).filter((scope) => scope !== "");

/** Undefined: it is no JSON object. */
export function claimsOf(text: string): JsonObject | undefined {
  if (text.trim() === "") return {};
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** As the API takes it. Claims that are no JSON are left out. */
export function viewerShape({ principal, scopes, claims }: Caller): ViewerShape {
  const parsed = claimsOf(claims) ?? {};
  return {
    ...(principal === "" ? {} : { principal }),
    scopes: scopesOf(scopes),
    ...(Object.keys(parsed).length === 0 ? {} : { claims: parsed }),
  };
}

/** The query of `GET /actors/:kind/:key/surface`. */
export function surfaceQuery(viewer: ChosenViewer): Readonly<Record<string, string>> {
  const { scopes, claims } = viewerShape(viewer);
  return {
    principal: viewer.principal,
    scopes: scopes.join(","),
    claims: claims === undefined ? "" : viewer.claims,
    lists: listModeOf(viewer),
  };
}

const NAME = "troupe-console-viewers";
const MOST = 8;

const isRecent = (value: unknown): value is Caller =>
  isObject(value) && [value["principal"], value["scopes"], value["claims"]].every((text) => typeof text === "string");

function read(): readonly Caller[] {
  const stored = readStored(NAME);
  return Array.isArray(stored) ? stored.filter(isRecent).slice(0, MOST) : [];
}

/** New ones first. One that is chosen again keeps its place: nothing moves under the pointer. */
export const recentViewers = signal(read());

export function remember({ principal, scopes, claims }: Caller): void {
  if (principal === "" && scopes === "" && claims === "") return;
  const own = { principal, scopes, claims };
  const before = recentViewers.value;
  const isKnown = before.some((one) => one.principal === principal);
  recentViewers.value = isKnown ? before.map((one) => (one.principal === principal ? own : one)) : [own, ...before].slice(0, MOST);
  writeStored(NAME, recentViewers.value);
}
