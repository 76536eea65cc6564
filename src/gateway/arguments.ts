import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";
import { type Bag, isBag, type Offer } from "../contract/index.ts";
import { loadAjv, loadAjvDraft7 } from "../platform/index.ts";

/** What is wrong with a tool's arguments, by path and expectation; undefined: nothing. */
export type Complaint = string | undefined;

// No meta-schema: schemas are checked where they are written, and compiling one costs 55 ms of start-up.
const OPTIONS: Options = { strict: false, validateFormats: false, meta: false, validateSchema: false, logger: false };
const DRAFT_7 = /draft-0[467]/;

// Checking stops at the first mistake, so that nobody makes it long; of short arguments all mistakes are looked for once one was found.
const ALL_OPTIONS: Options = { ...OPTIONS, allErrors: true };
const ALL_OF = 16_384;
const MOST_TOLD = 8;

/** One way to check, with what it has compiled. */
class Checks {
  readonly #options: Options;
  readonly #compiled = new WeakMap<Offer, ValidateFunction | string>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Text: there is nothing to check, or why nothing can be. */
  of(offer: Offer): ValidateFunction | string {
    let check = this.#compiled.get(offer);
    if (check === undefined) {
      check = this.#compile(offer);
      this.#compiled.set(offer, check);
    }
    return check;
  }

  #compile(offer: Offer): ValidateFunction | string {
    const schema = offer.definition["inputSchema"];
    if (!isBag(schema)) return "";
    const dialect = schema["$schema"];
    // Outside: that it cannot be loaded now is no fault of this schema.
    const Ajv = typeof dialect === "string" && DRAFT_7.test(dialect) ? loadAjvDraft7() : loadAjv();
    try {
      // An instance of its own: in one for all the `$id`s of different tools would meet.
      return new Ajv(this.#options).compile(schema);
    } catch (error) {
      return `The input schema of this tool cannot be used (${error instanceof Error ? error.message.slice(0, 200) : "unknown reason"}); its author has to correct it.`;
    }
  }
}

const first = new Checks(OPTIONS);
const all = new Checks(ALL_OPTIONS);

/** Checks arguments against the offer's own schema, compiled once per offer. */
export function complaintAbout(offer: Offer, args: Bag): Complaint {
  const check = first.of(offer);
  if (typeof check === "string") return check === "" ? undefined : check;
  if (check(args)) return undefined;
  return `Invalid arguments: ${[...new Set(mistakes(offer, args, check).map(sentence))].slice(0, MOST_TOLD).join("; ")}.`;
}

function mistakes(offer: Offer, args: Bag, { errors }: ValidateFunction): readonly ErrorObject[] {
  if (JSON.stringify(args).length > ALL_OF) return errors ?? [];
  const check = all.of(offer);
  if (typeof check !== "string") check(args);
  return (typeof check === "string" ? errors : check.errors) ?? [];
}

function sentence(error: ErrorObject): string {
  const where = error.instancePath === "" ? "the arguments" : error.instancePath.slice(1).replaceAll("/", ".");
  const params: Record<string, unknown> = error.params;
  const { allowedValues, additionalProperty } = params;
  if (Array.isArray(allowedValues)) return `${where} must be one of ${allowedValues.map((value) => JSON.stringify(value)).join(", ")}`;
  if (typeof additionalProperty === "string") return `${where} must not have ${JSON.stringify(additionalProperty.slice(0, 100))}`;
  return `${where} ${error.message ?? "do not fit"}`;
}
