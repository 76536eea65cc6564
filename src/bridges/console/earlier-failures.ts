// Owns: actors that had failed when their process ended, as text between two processes, and which of them still need attention. Does not
// own: where the text is stored (src/cli).

import { type ActorId, isJsonObject, isList, type Json } from "../../core/contract/index.ts";
import { isActorId, tryParseJson } from "../../core/contract/internal.ts";
import type { ActorReader } from "../operate/index.ts";
import type { ConsoleData } from "./data.ts";

/** An actor that had failed. */
export interface EarlierFailure {
  readonly id: ActorId;
  readonly why: string;
  readonly at: number;
}

/** More are not stored. */
const MOST = 100;
const MAX_WHY = 200;

/** What `failuresText` wrote. Anything else is left out. */
export function readFailures(text: string): readonly EarlierFailure[] {
  const list: Json | undefined = tryParseJson(text);
  if (list === undefined || !isList(list)) return [];
  return list.slice(0, MOST).flatMap((one): EarlierFailure[] => {
    const { id, why, at } = isJsonObject(one) ? one : {};
    return isActorId(id) && typeof why === "string" && typeof at === "number" ? [{ id, why: why.slice(0, MAX_WHY), at }] : [];
  });
}

/** The actors that have failed now, and those from before that still need attention. */
export function failuresText({ live, reader }: Pick<ConsoleData, "live" | "reader">, earlier: readonly EarlierFailure[]): string {
  const now = new Map(earlier.map((one) => [one.id, one]));
  for (const [id, { at, why }] of live?.faulted ?? []) {
    const failure = reader.health?.(id)?.failure;
    if (failure !== undefined) now.set(id, { id, at, why: (why === "" ? failure : why).slice(0, MAX_WHY) });
  }
  return JSON.stringify([...now.values()].slice(-MOST));
}

/** Those that have neither stopped nor handled a message since. A start clears failures, so they are live. */
export async function stillFailed(
  earlier: readonly EarlierFailure[],
  reader: Pick<ActorReader, "state">,
): Promise<readonly EarlierFailure[]> {
  const found: EarlierFailure[] = [];
  for (const one of earlier) {
    const state = await reader.state(one.id).catch(() => undefined);
    if (state !== undefined && state.status !== "stopped" && state.lastMessageAt <= one.at) found.push(one);
  }
  return found;
}
