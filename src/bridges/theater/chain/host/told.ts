import type { WitValue } from "../../../wasm/index.ts";
import type { Printable } from "../../wire/index.ts";

/** What Theater records of one host call: that it was made, and its result. The contents are cases of the family's enum. */
export interface HostCallEvents {
  readonly family: "Environment" | "Filesystem" | "Http" | "Message" | "Random" | "Runtime" | "Store" | "Supervisor" | "Timing";
  /** Absent if a single event records the call and its result. */
  readonly called?: Printable;
  /** For the `ok` of a result. Absent if the result is not recorded. */
  readonly returned?: Printable;
  /** For the `err` of a result. */
  readonly failed?: Printable;
}

export interface HostCall {
  readonly args: readonly WitValue[];
  /** What the guest received: the `ok` of a result, else the value itself. */
  readonly ok: WitValue;
  /** The `err` of a result. */
  readonly error: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** By the import's function name. */
export type HostInterface = Readonly<Record<string, (call: HostCall) => HostCallEvents>>;
