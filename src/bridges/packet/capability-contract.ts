// Owns: checking what a capability declares: required fields and parameters of a payload, provided fields of a result.
//   Does not own: the declaration itself (define-capability.ts).
import { type Behaviour, type JsonObject, type Reply, type Turn, isJsonObject, isList } from "../../core/contract/index.ts";
import { getOwn, hasOwn } from "../../core/contract/internal.ts";
import { checkJson } from "../../mcp/source/index.ts";
import type { Capability, OfferedTool } from "./capability.ts";
import { PacketError } from "./packet.ts";

/**
 * Checks a payload, however the request arrived. Guessed types are not enforced. Kinds defined with `actor()` check their own input.
 * Throws `validation_failed`: `details` have the `missing` fields, or `issues`, each `{path, message}`.
 */
export function checkPayload({ requires, parameters, does }: Capability, payload: JsonObject): void {
  const declared = does.how === "actor" && does.own !== undefined ? undefined : parameters;
  refuseMissing([...missingFields(requires, payload), ...missingRequired(declared, payload)]);
  if (declared !== undefined) checkSchema(declared, payload);
}

/** Checks the arguments of one tool: an object or nothing. */
export function checkArguments({ inputSchema, guessed }: OfferedTool, parameters: unknown): JsonObject {
  const args = parameters ?? {};
  if (!isJsonObject(args))
    throw new PacketError("validation_failed", '"parameters" must be an object: name the arguments of the tool in it.', {
      issues: [{ path: "/parameters", message: "must be an object" }],
    });
  refuseMissing(missingRequired(inputSchema, args));
  if (guessed !== true) checkSchema(inputSchema, args);
  return args;
}

/** The fields that the schema itself requires. There, null is a value. */
export function requiredFields(schema: JsonObject | undefined): readonly string[] {
  const required = schema === undefined ? undefined : getOwn(schema, "required");
  return isList(required) ? required.filter((field) => typeof field === "string") : [];
}

const missingRequired = (schema: JsonObject | undefined, payload: JsonObject): readonly string[] =>
  requiredFields(schema).filter((field) => !Object.hasOwn(payload, field));

function refuseMissing(missing: readonly string[]): void {
  const fields = [...new Set(missing)];
  if (fields.length === 0) return;
  const which = fields.length === 1 ? `field: ${fields[0] ?? ""}` : `fields: ${fields.join(", ")}`;
  throw new PacketError("validation_failed", `Missing required ${which}`, { missing: fields });
}

function checkSchema(schema: JsonObject, value: JsonObject): void {
  const result = checkJson(schema, value);
  if (!("wrong" in result)) return;
  const { wrong, path = "" } = result;
  throw new PacketError("validation_failed", wrong, { issues: [{ path, message: wrong }] });
}

/** A refusal if a successful reply lacks provided fields; otherwise undefined. */
function contractViolation(id: string, provides: readonly string[], reply: Reply): Reply | undefined {
  if (!hasOwn(reply, "ok")) return undefined;
  const missing = missingFields(provides, reply.ok);
  if (missing.length === 0) return undefined;
  const message = `${id} did not give what it promises: ${missing.join(", ")}.`;
  return { refused: { code: "contract_violation", message, data: { missing } } };
}

/**
 * A `receive` that refuses a reply without the provided fields, so that its turn changes nothing (C3).
 * Deferred and forwarded replies do not exist yet in this turn: `Running` checks them when they arrive.
 */
export function enforcingProvides<S>(
  kind: Behaviour<S>,
  id: string,
  provides: readonly string[],
  isMessage: (action: string) => boolean,
): Behaviour<S>["receive"] {
  if (provides.length === 0) return kind.receive.bind(kind);
  return (state, message, ...life) => {
    const checked = (turn: Turn<S>): Turn<S> => {
      const { reply = { ok: null }, settle, record } = turn;
      const finalReply = reply === "later" ? settle?.[message.id]?.reply : reply;
      const violation = finalReply === undefined ? undefined : contractViolation(id, provides, finalReply);
      return violation === undefined ? turn : { reply: violation, ...(record !== undefined && { record }) };
    };
    const outcome = kind.receive(state, message, ...life);
    if (!isMessage(message.action)) return outcome;
    return typeof outcome === "function" ? async (context) => checked(await outcome(context)) : checked(outcome);
  };
}

/** The names of fields that are absent or null. */
export function missingFields(names: readonly string[], value: unknown): string[] {
  if (names.length === 0) return [];
  return names.filter((name) => !isJsonObject(value) || !Object.hasOwn(value, name) || value[name] === undefined || value[name] === null);
}
