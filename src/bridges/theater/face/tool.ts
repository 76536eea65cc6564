import type { JsonObject, CancelSignal, Clock, Offer, Viewer } from "../../../core/contract/index.ts";
import type { Stage } from "../stage.ts";
import type { PendingWaits } from "./bell.ts";
import type { ViewerChannels } from "./channels.ts";
import type { ChangeHints } from "./hints.ts";
import type { ActorListing } from "./listing.ts";
import type { FaceLimits } from "./options.ts";

/** What tools, resources and prompts use. */
export interface ToolContext {
  readonly stage: Stage;
  readonly clock: Clock;
  readonly limits: FaceLimits;
  readonly hints: ChangeHints;
  readonly listing: Pick<ActorListing, "report">;
  readonly channels: ViewerChannels;
  readonly waits: PendingWaits;
}

/** The caller of a tool. */
export interface ToolCaller {
  readonly viewer: Viewer;
  readonly signal: CancelSignal | undefined;
}

/** Arguments are as the client sent them. Throws `InvalidArgument`, `StageError`, `CANCELLED`. */
export type Run = (context: ToolContext, args: JsonObject, caller: ToolCaller) => Promise<JsonObject>;

export interface Tool {
  readonly offer: Offer;
  readonly run: Run;
}

interface ToolDescription {
  readonly title: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output: JsonObject;
  readonly annotations: JsonObject;
}

export function defineTool(name: string, { title, description, input, output, annotations }: ToolDescription, run: Run): Tool {
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
export const READ_ONLY = hints(true, false, true, false);
export const ADDITIVE = hints(false, false, false, false);
export const CONSUMING = hints(false, false, false, false);
export const DESTRUCTIVE = hints(false, true, true, false);
export const OPEN_WORLD = hints(false, true, false, true);
