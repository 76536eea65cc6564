import { type Bag, isBag, type Json, isList } from "../../core/contract/index.ts";
import type { Complaint } from "./arguments.ts";
import { bagIn } from "./json.ts";

// A number as it is written between other values. Longer ones are Infinity, which no schema takes.
const WRITTEN = /(?<=[:,[\s])(-?\d{16,400})(?:\.0+)?(?=[,\]}\s])/g;
const MOST = 64;

const complaints = new WeakMap<Bag, Complaint>();

/**
 * Looks at the arguments of a message, or of each of a batch, for integers that no double holds: `JSON.parse` rounds them without a
 * word, and an id becomes another one. `text`: the message as it came.
 */
export function noteInexact(message: Json, text: string): void {
  if (isList(message)) for (const one of message) noteOne(one, text);
  else noteOne(message, text);
}

function noteOne(message: Json, text: string): void {
  const args = isBag(message) ? bagIn(bagIn(message, "params"), "arguments") : undefined;
  if (args === undefined || !holdsLarge(args)) return;
  const large = new Map<number, string>();
  collect(args, "", large);
  for (const [, digits = ""] of text.matchAll(WRITTEN)) {
    const value = Number(digits);
    const path = large.get(value);
    if (path === undefined || BigInt(digits) === BigInt(value)) continue;
    const words = `is ${digits.slice(0, 40)}, which no double holds: give integers beyond ±9007199254740991 as text`;
    complaints.set(args, { message: `Invalid arguments: ${path} ${words}.`, data: { issues: [{ path, message: words }] } });
    return;
  }
}

/** What `noteInexact` found in them. */
export const inexactIn = (args: Bag): Complaint | undefined => complaints.get(args);

const isLarge = (value: Json): value is number => typeof value === "number" && (value > 9007199254740991 || value < -9007199254740991);

// Every call passes here: no list of its members is made.
function holdsLarge(value: Bag | readonly Json[]): boolean {
  if (isList(value)) return value.some((one) => (typeof one === "object" && one !== null ? holdsLarge(one) : isLarge(one)));
  for (const name in value) {
    const one = value[name];
    if (one === undefined || one === null) continue;
    if (typeof one === "object" ? holdsLarge(one) : isLarge(one)) return true;
  }
  return false;
}

function collect(value: Json, path: string, large: Map<number, string>): void {
  if (large.size >= MOST) return;
  if (isLarge(value) && Number.isFinite(value)) large.set(value, path);
  else if (typeof value === "object" && value !== null)
    for (const [name, one] of Object.entries(value)) collect(one, path === "" ? name : `${path}.${name}`, large);
}
