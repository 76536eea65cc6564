import { isJsonObject, type Json } from "../../../core/contract/index.ts";

const DEEPEST = 64;

/** What another kind of actor is told: `{"action": "...", "args": …}` as JSON. */
export function actionIn(bytes: Uint8Array): { readonly action: string; readonly args: Json } {
  const json = jsonOf(bytes);
  if (isJsonObject(json) && typeof json["action"] === "string" && isPlain(json, DEEPEST))
    return { action: json["action"], args: json["args"] ?? {} };
  throw new Error('This actor is no guest: send it JSON text {"action": "tools/look", "args": {…}}.');
}

/** Undefined: they are no JSON text. */
export function jsonOf(bytes: Uint8Array): Json | undefined {
  try {
    const json: Json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return json;
  } catch {
    return undefined;
  }
}

/** What the engine takes: neither too deep, nor with half a character in it. */
function isPlain(json: Json, deeper: number): boolean {
  if (typeof json === "string") return json.isWellFormed();
  if (typeof json !== "object" || json === null) return true;
  return deeper > 0 && Object.entries(json).every(([key, value]: [string, Json]) => key.isWellFormed() && isPlain(value, deeper - 1));
}
