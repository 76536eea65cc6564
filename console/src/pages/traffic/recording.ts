// Owns: recorded traffic as a file: saving it with all messages, and reading one that someone attached to a bug. Does not own: hiding
// secrets, which the server does before it stores a message.
import { signal } from "@preact/signals";
import type { PageOf, TrafficDetail } from "../../../../src/bridges/console/shapes.ts";
import { about } from "../../about.ts";
import { get } from "../../api.ts";
import { download } from "../../download.ts";
import { isObject } from "../../json.ts";

export interface Recording {
  readonly file: string;
  readonly savedAt: number;
  /** Name and version. */
  readonly server: string;
  /** Newest first. */
  readonly items: readonly TrafficDetail[];
}

/** The file that is open instead of the live traffic. */
export const openRecording = signal<Recording | undefined>(undefined);

const FORMAT = 1;
/** As many as a server stores. */
const MOST = 2_000;
/** Messages of one request, if they are short. */
const PAGE = 500;
/** More than a server stores of them, as JSON. */
const MOST_BYTES = 128 * 1_048_576;

/** Saves these messages as one file. `onProgress`: how many were loaded. */
export async function saveRecording(
  wanted: ReadonlySet<number>,
  onProgress: (done: number) => void,
  cancelled: AbortSignal,
): Promise<void> {
  const items: TrafficDetail[] = [];
  let after: string | undefined;
  do {
    const page: PageOf<TrafficDetail> = await get<PageOf<TrafficDetail>>("/traffic-details", { after, limit: PAGE }, cancelled);
    items.push(...page.items.filter(({ n }) => wanted.has(n)));
    after = page.next;
    onProgress(items.length);
  } while (after !== undefined && items.length < wanted.size);
  const { name = "", version = "" } = about.value ?? {};
  const savedAt = Date.now();
  const at = new Date(savedAt).toISOString().replaceAll(/[:.]/g, "-");
  download(`traffic-${at}.json`, { troupeTraffic: FORMAT, savedAt, server: `${name} ${version}`, items });
}

/** Throws an `Error` whose sentence says why it is none. */
export async function readRecording(file: File): Promise<Recording> {
  if (file.size > MOST_BYTES) throw new Error("That file is larger than any that the console saves.");
  const value = parse(await file.text());
  if (!isObject(value) || value["troupeTraffic"] === undefined)
    throw new Error("That file has no traffic: open one that the page Traffic of a console has saved.");
  const { troupeTraffic, savedAt, server, items } = value;
  if (troupeTraffic !== FORMAT) throw new Error("That file was saved by a newer Troupe: open it with that one.");
  const list: readonly unknown[] = Array.isArray(items) ? items : [];
  if (!list.every(isDetail)) throw new Error("That file is damaged: some of its messages cannot be read.");
  return {
    file: file.name,
    savedAt: typeof savedAt === "number" && Number.isFinite(new Date(savedAt).getTime()) ? savedAt : file.lastModified,
    server: typeof server === "string" ? server : "",
    items: list.toSorted((one, other) => other.n - one.n).slice(0, MOST),
  };
}

/** The numbers of the messages whose text has `search`. */
export function numbersWith(search: string, inResponses: boolean, items: readonly TrafficDetail[]): ReadonlySet<number> {
  const wanted = search.toLowerCase();
  const has = (text: string): boolean => text.toLowerCase().includes(wanted);
  return new Set(
    items.filter(({ request, responses }) => has(request) || (inResponses && responses.some(({ text }) => has(text)))).map(({ n }) => n),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const TYPES = {
  needed: {
    n: "number",
    at: "number",
    requestBytes: "number",
    transport: "string",
    direction: "string",
    method: "string",
    status: "string",
    request: "string",
  },
  optional: {
    ms: "number",
    waitedMs: "number",
    ranMs: "number",
    actor: "string",
    responseBytes: "number",
    responseStatus: "number",
    era: "string",
    session: "string",
    client: "string",
    principal: "string",
    peer: "string",
    name: "string",
    code: "string",
    requestCut: "boolean",
  },
};

function isDetail(value: unknown): value is TrafficDetail {
  if (!isObject(value)) return false;
  const { at, error, requestHeaders, responseHeaders, responses } = value;
  return (
    Object.entries(TYPES.needed).every(([name, type]) => typeof value[name] === type) &&
    Object.entries(TYPES.optional).every(([name, type]) => value[name] === undefined || typeof value[name] === type) &&
    isTime(at) &&
    (error === undefined ||
      (isObject(error) && typeof error["message"] === "string" && (error["code"] === undefined || typeof error["code"] === "number"))) &&
    [requestHeaders, responseHeaders].every(
      (headers) => isObject(headers) && Object.values(headers).every((one) => typeof one === "string"),
    ) &&
    Array.isArray(responses) &&
    responses.every((one: unknown) => isObject(one) && isTime(one["at"]) && typeof one["text"] === "string")
  );
}

const isTime = (value: unknown): boolean => typeof value === "number" && Number.isFinite(new Date(value).getTime());
