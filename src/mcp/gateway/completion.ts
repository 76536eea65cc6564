// Owns: `completion/complete`: which values complete an argument. Does not own: the values that an author declares (sources).
import type { JsonObject, Surface } from "../../core/contract/index.ts";
import { getOwn, MAX_URI } from "../../core/contract/internal.ts";
import type { Call, Method, Outcome } from "./call.ts";
import { Fault } from "./errors.ts";
import { explainMissing, indexOf, requireScopes, type Target } from "./find-offer.ts";
import { EMPTY, objectIn, shortText } from "./json-rpc.ts";

// The maximum that MCP allows in one answer.
const MAX_VALUES = 100;

/** `completion/complete`: the choices of the surface that begin with what was typed, then those of the source. */
export const complete: Method = async (call) => {
  const surface = await call.source.surface(call.viewer);
  const target = explainMissing(surface.catalogue, () => targetOf(call, surface));
  requireScopes(target.scopes, call.viewer.scopes);
  const argument = objectIn(call.params, "argument");
  const name = shortText(argument?.["name"], 256);
  const value = argument?.["value"];
  if (name === undefined || typeof value !== "string" || value.length > 4_096)
    throw new Fault("PARAMS", "completion/complete needs an argument with a name and a value.");
  const choices = getOwn(getOwn(surface.choices, target.ref), name) ?? [];
  const typed = value.toLowerCase();
  const matching = choices.filter((choice) => choice.toLowerCase().startsWith(typed));
  const more = (await call.source.complete?.(call.viewer, target.ref, name, value, othersIn(call))) ?? [];
  return outcome([...new Set([...matching, ...more])]);
};

function outcome(values: readonly string[]): Outcome {
  const completion = { values: values.slice(0, MAX_VALUES), total: values.length, hasMore: values.length > MAX_VALUES };
  return { members: `"completion":${JSON.stringify(completion)}` };
}

function othersIn(call: Call): JsonObject {
  const others = objectIn(objectIn(call.params, "context"), "arguments") ?? EMPTY;
  return Object.fromEntries(Object.entries(others).filter(([, value]) => typeof value === "string"));
}

function targetOf(call: Call, surface: Surface): Target {
  const ref = objectIn(call.params, "ref");
  const offers = indexOf(surface.catalogue);
  if (ref?.["type"] === "ref/prompt") {
    const name = shortText(ref?.["name"], 256);
    const target = name === undefined ? undefined : offers.prompts.get(name);
    if (target !== undefined && visible(surface, target)) return target;
    throw new Fault("UNKNOWN_OFFER", `Unknown prompt: ${name ?? ""}`);
  }
  if (ref?.["type"] === "ref/resource") {
    const uri = shortText(ref?.["uri"], MAX_URI);
    const target = uri === undefined ? undefined : (offers.template(uri) ?? offers.resource(uri));
    if (target !== undefined && visible(surface, target)) return target;
    throw new Fault("RESOURCE_NOT_FOUND", "Resource not found", { data: { uri: uri ?? "" } });
  }
  throw new Fault("PARAMS", "completion/complete needs a ref of type ref/prompt or ref/resource.");
}

// An offer that is off without a reason does not exist for this viewer (law 3), and completes nothing.
function visible(surface: Surface, target: Target): boolean {
  return !Object.hasOwn(surface.off, target.ref) || surface.off[target.ref] !== true;
}
