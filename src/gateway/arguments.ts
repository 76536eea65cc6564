import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";
import { type Bag, isBag, type Offer } from "../contract/index.ts";
import { compilerFor } from "../schema/index.ts";

/** What is wrong with a tool's arguments, by path and expectation; undefined: nothing. */
export type Complaint = string | undefined;

// Checking stops at the first mistake, so that nobody makes it long; of short arguments all mistakes are looked for once one was found.
const ALL_OF = 16_384;
const MOST_TOLD = 8;

/** One way to check, with what it has compiled. */
class Checks {
  readonly #options: Options;
  readonly #compiled = new WeakMap<Offer, ValidateFunction | string>();

  constructor(options: Options = {}) {
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
    // Outside: that it cannot be loaded now is no fault of this schema.
    const compiler = compilerFor(schema, this.#options);
    try {
      return compiler.compile(schema);
    } catch (error) {
      return `The input schema of this tool cannot be used (${error instanceof Error ? error.message.slice(0, 200) : "unknown reason"}); its author has to correct it.`;
    }
  }
}

const first = new Checks();
const all = new Checks({ allErrors: true });

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
