import type { WitValue } from "../../../wasm/index.ts";
import type { Printable } from "../../wire/index.ts";

/** What Theater tells of one host call: that it was made, and how it went. Contents are of the family's enum. */
export interface Told {
  readonly family: "Environment" | "Filesystem" | "Http" | "Message" | "Random" | "Runtime" | "Store" | "Supervisor" | "Timing";
  /** Absent: a single event tells all of it. */
  readonly called?: Printable;
  /** Of what it gave, the `ok` of a result. Absent: nothing is told of it. */
  readonly gave?: Printable;
  /** Of the `err` of a result. */
  readonly failed?: Printable;
}

export interface Call {
  readonly args: readonly WitValue[];
  /** What the guest was given: the `ok` of a result, else the value itself. */
  readonly ok: WitValue;
  /** The `err` of a result. */
  readonly error: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** By the import's function. */
export type Family = Readonly<Record<string, (call: Call) => Told>>;
