import { type ContentStore, isJsonObject, type Json, isList } from "../../../core/contract/index.ts";
import { loadText } from "../kept.ts";
import { EXPORTS, type ExportName } from "../world/interfaces.ts";

/** What an event keeps of a guest's call. */
export interface GuestRecord {
  readonly export: ExportName;
  readonly params: readonly Json[];
  readonly did: readonly { readonly name: string; readonly args: readonly Json[]; readonly result: Json }[];
  readonly end: string;
  readonly message?: string;
  readonly back?: Json;
}

const NAMES: ReadonlySet<string> = new Set(
  Object.entries(EXPORTS).flatMap(([of, functions]) => Object.keys(functions).map((name) => `${of}.${name}`)),
);
const isExport = (name: Json | undefined): name is ExportName => typeof name === "string" && NAMES.has(name);

/** Undefined: it is none. Throws `MissingContent` if a part that is stored separately is missing. */
export async function readRecord(record: Json | undefined, get: ContentStore["get"]): Promise<GuestRecord | undefined> {
  if (!isJsonObject(record) || !isJsonObject(record["call"])) return undefined;
  const { call, did, end, message, back } = record;
  const { export: name, params } = call;
  if (!isExport(name) || !isList(params) || !isList(did) || typeof end !== "string") return undefined;
  const calls: GuestRecord["did"][number][] = [];
  for (const one of await whole(did, get)) {
    if (!isJsonObject(one) || typeof one["name"] !== "string" || !isList(one["args"])) return undefined;
    calls.push({ name: one["name"], args: one["args"], result: one["result"] ?? null });
  }
  return {
    export: name,
    params,
    did: calls,
    end,
    ...(typeof message === "string" ? { message } : {}),
    ...(back === undefined ? {} : { back }),
  };
}

async function whole(did: readonly Json[], get: ContentStore["get"]): Promise<readonly Json[]> {
  const parts = await Promise.all(
    did.map(async (one) => {
      const apart = isJsonObject(one) ? one["kept"] : undefined;
      if (!isJsonObject(apart) || typeof apart["digest"] !== "string") return one;
      return loadText(apart["digest"], get);
    }),
  );
  return parts.flatMap((part) => (isList(part) ? part : [part]));
}
