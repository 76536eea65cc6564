import { type JsonObject, isJsonObject, isList } from "../../core/contract/index.ts";
import { checkJson } from "../../mcp/source/index.ts";
import type { Capability, OfferedTool } from "./capability.ts";
import { PacketError } from "./packet-error.ts";
import { memberOf } from "./packet-json.ts";
import { missing } from "./required.ts";

/**
 * What is declared holds whichever way a request comes; a guess from a name is for showing. What an actor takes that was there before
 * capabilities, it checks itself. Throws `validation_failed`: `details` say what is `missing`, or have `issues`, each `{path, message}`.
 */
export function checkPayload({ requires, parameters, does }: Capability, payload: JsonObject): void {
  const declared = does.how === "actor" && does.own !== undefined ? undefined : parameters;
  complete([...missing(requires, payload), ...unmarked(declared, payload)]);
  if (declared !== undefined) fits(declared, payload);
}

/** The same of one tool's arguments, which are an object or nothing. */
export function argumentsFor({ inputSchema, guessed }: OfferedTool, parameters: unknown): JsonObject {
  const args = parameters ?? {};
  if (!isJsonObject(args))
    throw new PacketError("validation_failed", '"parameters" must be an object: name the arguments of the tool in it.', {
      issues: [{ path: "/parameters", message: "must be an object" }],
    });
  complete(unmarked(inputSchema, args));
  if (guessed !== true) fits(inputSchema, args);
  return args;
}

/** What a schema itself marks as required: there, null is a value. */
export function requiredBy(schema: JsonObject | undefined): readonly string[] {
  const required = schema === undefined ? undefined : memberOf(schema, "required");
  return isList(required) ? required.filter((field) => typeof field === "string") : [];
}

const unmarked = (schema: JsonObject | undefined, payload: JsonObject): readonly string[] =>
  requiredBy(schema).filter((field) => !Object.hasOwn(payload, field));

function complete(lacking: readonly string[]): void {
  const fields = [...new Set(lacking)];
  if (fields.length === 0) return;
  const which = fields.length === 1 ? `field: ${fields[0] ?? ""}` : `fields: ${fields.join(", ")}`;
  throw new PacketError("validation_failed", `Missing required ${which}`, { missing: fields });
}

function fits(schema: JsonObject, value: JsonObject): void {
  const result = checkJson(schema, value);
  if (!("wrong" in result)) return;
  const { wrong, path = "" } = result;
  throw new PacketError("validation_failed", wrong, { issues: [{ path, message: wrong }] });
}
