import { type Body, type ContentStore, isJsonObject, type Json, isList } from "../../../core/contract/index.ts";
import { loadValue } from "../../wasm/index.ts";
import type { ActorEnd, TheaterEvent } from "../theater-stage.ts";

/** The failure recorded in an event. A parent is notified of it like of an end. */
export function failureOf(body: Body | undefined, last: TheaterEvent | undefined): ActorEnd | undefined {
  const { end, message } = isJsonObject(body?.record) ? body.record : {};
  if (typeof end !== "string" || end === "ok") return undefined;
  return { how: "error", event: last, message: typeof message === "string" ? message : `The call ended: ${end}.` };
}

/** How the actor ended with the event of this body. */
export async function actorEnd(body: Body | undefined, get: ContentStore["get"]): Promise<ActorEnd> {
  const { did } = isJsonObject(body?.record) ? body.record : {};
  const shutdown = isList(did) ? did.findLast((call) => isJsonObject(call) && call["name"] === "runtime.shutdown") : undefined;
  if (isJsonObject(shutdown)) return { how: "success", result: await shutdownData(shutdown["args"], get) };
  return isEngineStop(body) ? { how: "external-stop" } : { how: "success", result: undefined };
}

async function shutdownData(args: Json | undefined, get: ContentStore["get"]): Promise<Uint8Array | undefined> {
  const [data] = isList(args) ? args : [];
  const value = data === undefined ? undefined : await loadValue(data, get);
  return value instanceof Uint8Array ? value : undefined;
}

/** The engine's own stop, which runs no code of the behaviour. */
const isEngineStop = (body: Body | undefined): boolean => isJsonObject(body?.message) && body.message["action"] === "stop";
