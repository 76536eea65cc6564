import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";
import { type Bag, isBag, type Offer } from "../contract/index.ts";
import { loadAjv, loadAjvDraft7 } from "../platform/index.ts";

/** What is wrong with a tool's arguments, by path and expectation; undefined: nothing. */
export type Complaint = string | undefined;

// No meta-schema: schemas are checked where they are written, and compiling one costs 55 ms of start-up.
const OPTIONS: Options = { strict: false, validateFormats: false, meta: false, validateSchema: false, logger: false, addUsedSchema: false };
const DRAFT_7 = /draft-0[467]/;

let newest: InstanceType<ReturnType<typeof loadAjv>> | undefined;
let draft7: InstanceType<ReturnType<typeof loadAjvDraft7>> | undefined;

const compiled = new WeakMap<Offer, ValidateFunction | string>();

function compile(offer: Offer): ValidateFunction | string {
  const schema = offer.definition["inputSchema"];
  if (!isBag(schema)) return "";
  try {
    const dialect = schema["$schema"];
    if (typeof dialect === "string" && DRAFT_7.test(dialect)) return (draft7 ??= new (loadAjvDraft7())(OPTIONS)).compile(schema);
    return (newest ??= new (loadAjv())(OPTIONS)).compile(schema);
  } catch (error) {
    return `The input schema of this tool cannot be used (${error instanceof Error ? error.message.slice(0, 200) : "unknown reason"}); its author has to correct it.`;
  }
}

/** Checks arguments against the offer's own schema, compiled once per offer. */
export function complaintAbout(offer: Offer, args: Bag): Complaint {
  let check = compiled.get(offer);
  if (check === undefined) {
    check = compile(offer);
    compiled.set(offer, check);
  }
  if (typeof check === "string") return check === "" ? undefined : check;
  if (check(args)) return undefined;
  return `Invalid arguments: ${(check.errors ?? []).slice(0, 3).map(sentence).join("; ")}.`;
}

function sentence(error: ErrorObject): string {
  const where = error.instancePath === "" ? "the arguments" : error.instancePath.slice(1).replaceAll("/", ".");
  const params: Record<string, unknown> = error.params;
  const { allowedValues, additionalProperty } = params;
  if (Array.isArray(allowedValues)) return `${where} must be one of ${allowedValues.map((value) => JSON.stringify(value)).join(", ")}`;
  if (typeof additionalProperty === "string") return `${where} must not have ${JSON.stringify(additionalProperty.slice(0, 100))}`;
  return `${where} ${error.message ?? "do not fit"}`;
}
