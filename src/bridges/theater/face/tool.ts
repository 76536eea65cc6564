import type { JsonObject, CancelSignal, Clock, Offer, Viewer } from "../../../core/contract/index.ts";
import type { Stage } from "../stage.ts";
import type { Bells } from "./bell.ts";
import type { Channels } from "./channels.ts";
import type { Hints } from "./hints.ts";
import type { Listing } from "./listing.ts";
import type { FaceLimits } from "./options.ts";

/** What tools, resources and prompts use. */
export interface Backstage {
  readonly stage: Stage;
  readonly clock: Clock;
  readonly limits: FaceLimits;
  readonly hints: Hints;
  readonly listing: Pick<Listing, "note">;
  readonly channels: Channels;
  readonly bells: Bells;
}

/** The caller of a tool. */
export interface ToolCaller {
  readonly viewer: Viewer;
  readonly signal: CancelSignal | undefined;
}

/** Arguments are as the client sent them. Throws `InvalidArgument`, `StageError`, `CANCELLED`. */
export type Run = (backstage: Backstage, args: JsonObject, caller: ToolCaller) => Promise<JsonObject>;

export interface FaceTool {
  readonly offer: Offer;
  readonly run: Run;
}

interface Written {
  readonly title: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output: JsonObject;
  readonly annotations: JsonObject;
}

export function faceTool(name: string, { title, description, input, output, annotations }: Written, run: Run): FaceTool {
  const definition = Object.freeze({ title, description, inputSchema: input, outputSchema: output, annotations });
  return { offer: Object.freeze({ name, action: name, readOnly: annotations["readOnlyHint"] === true, definition }), run };
}

const hints = (readOnly: boolean, destructive: boolean, idempotent: boolean, open: boolean): JsonObject => ({
  readOnlyHint: readOnly,
  destructiveHint: destructive,
  idempotentHint: idempotent,
  openWorldHint: open,
});

/** What a call may do, for hosts that ask people first. A message may do whatever its actor may. */
export const LOOKS = hints(true, false, true, false);
export const ADDS = hints(false, false, false, false);
export const TAKES = hints(false, false, false, false);
export const ENDS = hints(false, true, true, false);
export const SPEAKS = hints(false, true, false, true);
