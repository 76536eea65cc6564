import type { Digest } from "../contract/index.ts";
import type { ExportName, ImportName } from "./world/interfaces.ts";

/** A component of Theater's world, checked: what an instance is made of. Can be sent to a worker. */
export interface Component {
  /** Of the bytes it was read from. */
  readonly digest: Digest;
  /** Which of the two names its interfaces have. */
  readonly package: "theater:simple" | "ntwk:theater";
  /** The core module that holds the guest's code. */
  readonly module: Uint8Array;
  /** Core export that allocates in its memory: `cabi_realloc`. */
  readonly realloc: string;
  readonly memory: string;
  /** What it imports: where in the core module's imports it is found. */
  readonly imports: readonly { readonly name: ImportName; readonly module: string; readonly field: string }[];
  /** What it exports: the core function, and what is called after its result was read. */
  readonly exports: Readonly<Partial<Record<ExportName, CoreExport>>>;
}

export interface CoreExport {
  readonly core: string;
  readonly post?: string;
  /** `handle-channel-open` as of April 2025: without the channel's id. */
  readonly old?: true;
}
